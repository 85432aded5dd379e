package reading

import (
	"fmt"
	"strings"
	"testing"

	"coleo.dev/policy/commandline"
)

// attacks are command lines that change, start, send or tell something.
var attacks = []string{
	// They change files.
	"rm -fr /", "rm a.go", "rmdir sub", "unlink a.go", "mv a.go b.go", "cp a.go b.go", "ln -s / x", "touch x", "mkdir x",
	"truncate -s 0 a.go", "dd if=/dev/zero of=a.go", "tee a.go", "install a.go x", "chmod 777 a.go", "chown root a.go",
	"shred a.go", "mkfifo p", "mknod p p", "echo x > a.go", "echo x >> a.go", "echo x >| a.go", "cat a.go > /etc/cron.d/x",
	"sed -i s/a/b/ a.go", "sed -n 'w x' a.go", "sed -i.bak p a.go", "perl -pi -e 1 a.go", "sort -o a.go b.txt",
	"sort b.txt -oa.go", "uniq b.txt a.go", "split b.txt", "csplit b.txt 1", "tar xf a.tar", "tar cf x .", "unzip x.zip",
	"gzip b.txt", "patch < b.txt", "ed a.go", "ex -c wq a.go", "vim -c wq a.go", "find . -delete",
	"find . -fprintf x y", "find . -fls x", "tree -o x", "xxd a.go x", "rsync a.go x", "sqlite3 x.db 'create table a(b)'",
	// They start programs.
	"sh -c id", "bash a.sh", "zsh -c id", "python3 -c 1", "perl -e 1", "ruby -e 1", "node -e 1", "php -r 1", "lua -e 1",
	"awk 'BEGIN{system(\"id\")}'", "eval id", "exec id", "source a.sh", ". ./a.sh", "xargs rm", "xargs -n1 sh -c id",
	"env id", "env -i sh", "nice id", "nohup id", "timeout 1 id", "setsid id", "stdbuf -o0 id", "sudo id", "su -c id",
	"doas id", "ssh host id", "watch id", "time id", "parallel id", "find . -exec id ;", "find . -exec rm {} +",
	"find . -execdir id ;", "find . -ok id ;", "rg --pre id x", "rg --search-zip x", "tar cf x --checkpoint-action=exec=id .",
	"man -P id ls", "less a.go", "more a.go", "vi a.go", "make", "make test", "npm test", "npm run x", "npx x", "go run .",
	"go test ./...", "go generate", "cargo build", "pip install x", "docker run x", "./a.sh", "/tmp/x", "sub/x", "command id",
	"builtin eval id", "trap id EXIT", "coproc id", "enable -f x.so y", "alias ls=rm", "hash -p ./x ls", "bind -x x",
	"sort --compress-program=id b.txt", "sed '1e id' a.go", "sed 's/x/id/e' a.go", "gdb -ex 'shell id'", "expect -c id",
	"script -c id x", "busybox sh", "LD_PRELOAD=./x.so ls", "PATH=. ls", "BASH_ENV=./x ls", "IFS=/ ls", "GIT_DIR=x ls",
	"PATH=.:$PATH", "export PATH=.", "declare -x PATH=.", "readonly x=1", "set -o allexport", "shopt -s extglob", "ulimit -n 1",
	// Git runs programs that the repository names.
	"git status", "git diff", "git log -p", "git branch -D main", "git push", "git commit -am x", "git checkout .",
	"git -c core.pager=id log", "git --ext-diff diff", "git diff --output=x", "git grep -Oid x", "git reset --hard",
	"git config alias.x '!id'", "git stash", "git clean -fdx", "gh pr list",
	// They reach the network.
	"curl example.com", "wget example.com", "nc -l 1", "ping x", "dig x", "telnet x", "ftp x", "scp a.go x:", "host x",
	"exec 3<>/dev/tcp/x/80", "cat < /dev/tcp/x/80", "echo x > /dev/udp/x/1", "openssl s_client x",
	// They tell secrets, or files of others.
	"env", "printenv", "set", "export", "declare -p", "cat .env", "cat .env.local", "cat ./sub/../.env", "head .git/config",
	"cat id_rsa", "cat sub/server.key", "cat /etc/passwd", "cat /etc/shadow", "cat ~/.ssh/id_rsa", "cat $HOME/.netrc",
	"cat /proc/self/environ", "cat /proc/1/environ", "ls ..", "ls /", "ls ~", "ls -R ..", "find / -name x", "find .. -name x",
	"grep -r x /", "grep -r x .", "grep -R x open", "cat ../outside/plain.txt", "cat link.txt", "ls linkdir/",
	"cat linkdir/plain.txt", "wc -c < ../outside/plain.txt", "diff a.go link.txt", "sort --files0-from=b.txt",
	"wc --files0-from=b.txt", "grep -f ../outside/plain.txt a.go", "md5sum link.txt", "stat /etc/passwd", "tail -f a.go",
	"ps aux", "id", "whoami", "history", "crontab -l", "security find-generic-password x", "gpg -d x", "pass x",
	// They change the system or end processes.
	"kill 1", "pkill x", "reboot", "date -s 1", "date 01010000", "hostname x", "sysctl -w x=1", "mount x", "umount x",
	"systemctl stop x", "crontab a.go", "at now", "useradd x", "passwd", "exit 0; rm a.go",
	// They look like something else.
	"саt a.go", "cat\u00a0a.go", "cat a.go\u200b", "ls \u202e", "ls\x1b[2K", "ls\r\nrm a.go", "ls \x00", "ｌs", "cat$IFS.env",
	"c''at .env", "\\cat .env", "c\\at .env", `"cat" '.env'`, "cat .en?", "cat .e*", "cat .[e]nv", "cat .e{nv,x}", "cat ./.*",
	"$(echo cat) .env", "${x:-cat} .env", "x=cat; $x .env", "x=.env; cat \"$x\"", "for f in .env; do cat \"$f\"; done",
	"echo $(<.env)", "echo \"$(<.env)\"", "cat <(cat .env)", "echo $((a[$(id)]))", "[[ -v a[$(id)] ]]", "test -v 'a[$(id)]'",
	"printf -v x y", "printf '%n' x", "read x < .env", "mapfile x < .env", "echo ${x@P}", "echo ${!x}", "(( x=1 ))",
	"let x=1", "ls &", "ls & id", "function ls { id; }; ls", "ls() { id; }; ls", "case x in x) id;; esac", "! id",
	"if id; then :; fi", "while id; do :; done", "until id; do :; done", "{ id; }", "(id)", "true && id", "false || id",
	"ls; id", "ls\nid", "ls | id", "ls |& id", "cat <<E | sh\nid\nE", "cat <<E\n$(id)\nE", "cat <<< \"$(id)\"", "ls # x\nid",
	"cd / && ls", "cd .. && ls", "cd linkdir && ls", "cd && ls", "cd - && ls", "pushd / && ls", "cd ./sub && cat ../.env",
	"cd ./sub && cat ../../outside/plain.txt", "CDPATH=/ cd etc && ls",
}

// embeddings put a line into another one.
var embeddings = []string{
	"%s", "ls; %s", "ls && %s", "ls || %s", "false || %s", "! %s", "ls | %s", "%s | cat", "%s; ls", "%s && ls", "(%s)", "{ %s; }",
	"echo \"$(%s)\"", "echo \"$(ls; %s)\"", "if true; then %s; fi", "if %s; then ls; fi", "while false; do %s; done",
	"until true; do %s; done", "for f in a.go; do %s; done", "ls\n%s", "cd . && %s", "%s 2>/dev/null", "LC_ALL=C %s",
	"x=1; %s", "ls >/dev/null; %s", "cat <<E\nx\nE\n%s", "true && { ls; (%s); }",
}

// TestNoAttackIsAllowed: no line with an attack in it is allowed, in any shell.
func TestNoAttackIsAllowed(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	tried := 0
	for _, attack := range attacks {
		for _, e := range embeddings {
			line := fmt.Sprintf(e, attack)
			for _, shell := range []commandline.Shell{commandline.Bash, commandline.POSIX, commandline.Zsh} {
				tried++
				if w.Judge(Line{Text: line, Shell: shell, Dir: w.Root}) == nil {
					t.Errorf("%s: %q is allowed", shell, line)
				}
			}
		}
	}
	for _, long := range []string{"ls " + strings.Repeat("a", 100_000), strings.Repeat("ls;", 40_000), strings.Repeat("$(", 50_000)} {
		if w.bash(long) == nil {
			t.Errorf("a line of %d bytes is allowed", len(long))
		}
	}
	t.Logf("%d lines", tried)
}
