package graph

import (
	"hash/maphash"
	"iter"
)

// tree is a map that never changes. Each change returns a new tree, which shares most of its
// branches with the old tree. The keys are in order. The shape of a tree depends only on its keys,
// so reflect.DeepEqual can compare two trees of one process.
type tree[V any] struct {
	root *branch[V]
	size int
}

// A branch is a node of a treap. No branch below it has a higher rank.
type branch[V any] struct {
	key         string
	rank        uint64
	value       V
	left, right *branch[V]
}

// ranks is a random seed for the ranks of the keys. Without a random seed, somebody could choose
// keys that make a tree deep and therefore slow.
var ranks = maphash.MakeSeed()

func (t tree[V]) get(key string) (V, bool) {
	for b := t.root; b != nil; {
		switch {
		case key < b.key:
			b = b.left
		case key > b.key:
			b = b.right
		default:
			return b.value, true
		}
	}
	var none V
	return none, false
}

// with returns a tree in which the key has the given value.
func (t tree[V]) with(key string, value V) tree[V] {
	added := 0
	if _, ok := t.get(key); !ok {
		added = 1
	}
	return tree[V]{insert(t.root, key, maphash.String(ranks, key), value), t.size + added}
}

// insert adds a key and returns a new branch. All branches on the path to the key are new, so that
// insert can rotate them.
func insert[V any](b *branch[V], key string, rank uint64, value V) *branch[V] {
	if b == nil {
		return &branch[V]{key: key, rank: rank, value: value}
	}
	c := *b
	switch {
	case key < c.key:
		l := insert(c.left, key, rank, value)
		if c.left = l; l.rank > c.rank {
			c.left, l.right = l.right, &c
			return l
		}
	case key > c.key:
		r := insert(c.right, key, rank, value)
		if c.right = r; r.rank > c.rank {
			c.right, r.left = r.left, &c
			return r
		}
	default:
		c.value = value
	}
	return &c
}

// without returns a tree that does not contain the key.
func (t tree[V]) without(key string) tree[V] {
	if _, ok := t.get(key); !ok {
		return t
	}
	return tree[V]{cut(t.root, key), t.size - 1}
}

func cut[V any](b *branch[V], key string) *branch[V] {
	c := *b
	switch {
	case key < c.key:
		c.left = cut(c.left, key)
	case key > c.key:
		c.right = cut(c.right, key)
	default:
		return join(c.left, c.right)
	}
	return &c
}

// join returns one tree with the keys of both trees. Every key of the first tree must be less than
// every key of the second tree.
func join[V any](a, b *branch[V]) *branch[V] {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.rank > b.rank:
		c := *a
		c.right = join(a.right, b)
		return &c
	}
	c := *b
	c.left = join(a, b.left)
	return &c
}

// sortedEntries returns the keys and values in the order of the keys.
func (t tree[V]) sortedEntries() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) { t.root.walk(yield) }
}

func (b *branch[V]) walk(yield func(string, V) bool) bool {
	return b == nil || b.left.walk(yield) && yield(b.key, b.value) && b.right.walk(yield)
}
