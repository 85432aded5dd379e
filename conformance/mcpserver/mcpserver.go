// Package mcpserver is a small MCP server for tests, which agent CLIs start. The server has the tool `ping`,
// and records each request. The record proves that an MCP connection works, whatever the agent CLI itself
// reports. If an agent CLI allows servers to ask its user, the server also has the tool `ask`.
//
// The server uses only standard input and output. It offers nothing except the tools.
package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool is the name of the tool that the server offers to every agent CLI. The tool takes {"text":
// string}, and returns the text with "pong: " before it.
const Tool = "ping"

// AskTool is the name of the tool that asks the user of the agent CLI, with the method
// elicitation/create. It takes {"message": string, "fields": object}. The fields are the properties
// of the schema that the user fills in. The tool returns the user's action and the values.
const AskTool = "ask"

// Request is one line of the record: a request or a notification that the server
// received.
type Request struct {
	At     time.Time       `json:"at"`
	Method string          `json:"method"`           // "initialize", "tools/list", "tools/call", ...
	Params json.RawMessage `json:"params,omitempty"` // the parameters, as the client sent them
}

type askInput struct {
	Message string         `json:"message" jsonschema:"the question"`
	Fields  map[string]any `json:"fields,omitempty" jsonschema:"the fields of the form"`
}

type pingInput struct {
	Text string `json:"text" jsonschema:"the text that comes back"`
}

// Run handles one client until the input ends or ctx is canceled. The end of the input is not an
// error. Nobody else may write to out.
//
// Before Run answers a request, it appends the request to recordFile as a line of JSON. If
// recordFile is empty, there is no record.
func Run(ctx context.Context, in io.Reader, out io.Writer, recordFile string) (err error) {
	log := io.Discard
	if recordFile != "" {
		f, err := os.OpenFile(recordFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("open MCP record: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		log = f
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "coleo-ping", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: Tool, Description: "Answers pong and the text."}, ping)
	s.AddReceivingMiddleware(offerAsk(s))
	t := &recorder{Transport: &mcp.IOTransport{Reader: io.NopCloser(in), Writer: noClose{out}}, log: log}
	if err := s.Run(ctx, t); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("serve MCP: %w", err)
	}
	return nil
}

func ping(_ context.Context, _ *mcp.CallToolRequest, in pingInput) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "pong: " + in.Text}}}, nil, nil
}

// offerAsk adds the tool `ask` when a client declares that servers may ask its user.
func offerAsk(s *mcp.Server) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if letsServersAsk(req.GetParams()) {
				mcp.AddTool(s, &mcp.Tool{Name: AskTool, Description: "Asks the user.",
					Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, ask)
			}
			return next(ctx, method, req)
		}
	}
}

// letsServersAsk reports whether the parameters of a request contain the capability `elicitation`. Since the
// protocol of 2026-07-28, each request contains the capabilities of the client.
func letsServersAsk(p mcp.Params) bool {
	if first, ok := p.(*mcp.InitializeParams); ok {
		return first.Capabilities != nil && first.Capabilities.Elicitation != nil
	}
	if p == nil || reflect.ValueOf(p).IsNil() {
		return false
	}
	named, _ := p.GetMeta()["io.modelcontextprotocol/clientCapabilities"].(map[string]any)
	return named["elicitation"] != nil
}

// ask asks the user of the client. The first call returns the question, and the client calls again
// with the answer. For a client with an older protocol, the SDK asks between the two calls.
func ask(_ context.Context, req *mcp.CallToolRequest, in askInput) (*mcp.CallToolResult, any, error) {
	got, answered := req.Params.InputResponses["answer"].(*mcp.ElicitResult)
	if !answered {
		fields := in.Fields
		if fields == nil {
			fields = map[string]any{}
		}
		question := &mcp.ElicitParams{Mode: "form", Message: in.Message,
			RequestedSchema: map[string]any{"type": "object", "properties": fields}}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"answer": question}}, nil, nil
	}
	values, err := json.Marshal(got.Content)
	if err != nil {
		return nil, nil, fmt.Errorf("write the user's values: %w", err)
	}
	text := fmt.Sprintf("the user answered: %s %s", got.Action, values)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

// noClose is a writer whose Close does nothing, so that the SDK does not close the caller's writer.
type noClose struct{ io.Writer }

func (noClose) Close() error { return nil }

// recorder records all requests that its connections read, including requests with
// unknown methods.
type recorder struct {
	mcp.Transport
	log io.Writer
}

func (r *recorder) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := r.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &recordedConn{Connection: c, log: r.log}, nil
}

type recordedConn struct {
	mcp.Connection
	mu  sync.Mutex
	log io.Writer
}

func (r *recordedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := r.Connection.Read(ctx)
	if q, ok := m.(*jsonrpc.Request); ok && err == nil {
		err = r.write(Request{At: time.Now(), Method: q.Method, Params: q.Params})
	}
	return m, err
}

func (r *recordedConn) write(q Request) error {
	line, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("record MCP request: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.log.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("record MCP request: %w", err)
	}
	return nil
}

// longestLine is the largest size of a line of the record, in bytes. The SDK accepts no
// request of more than 16 MiB. A line is only a little longer than its request.
const longestLine = 17 << 20

// ReadRecord reads a record file. If the file does not exist, the record is empty. The error names
// the file and, if a line cannot be decoded, the line.
func ReadRecord(path string) ([]Request, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read MCP record: %w", err)
	}
	defer f.Close()
	var list []Request
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var q Request
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return nil, fmt.Errorf("MCP record %s, line %d: %w", path, len(list)+1, err)
		}
		list = append(list, q)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read MCP record: %w", err)
	}
	return list, nil
}
