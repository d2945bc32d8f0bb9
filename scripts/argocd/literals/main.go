// Rewrites composite literals that name promoted fields, which only Go 1.27 and later accept, so that earlier versions compile them:
// `Secret{Name: "x"}` becomes `Secret{ObjectMeta: metav1.ObjectMeta{Name: "x"}}`.
//
// literals PREFIX: reads `go list -deps -export -e -json` on standard input, and rewrites the files of packages whose path begins with PREFIX.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	ImportMap               map[string]string
}

func main() {
	if err := run(os.Args[1], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "literals:", err)
		os.Exit(1)
	}
}

// run works in the order of `go list`, in which a package follows those that it imports.
func run(prefix string, input io.Reader) error {
	exports := map[string]string{}
	own := map[string]*types.Package{}
	lookup := func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("%s is not compiled", path)
		}
		return os.Open(exports[path])
	}
	compiled := importer.ForCompiler(token.NewFileSet(), "gc", lookup)
	for decoder := json.NewDecoder(input); ; {
		var found listed
		if err := decoder.Decode(&found); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		exports[found.ImportPath] = found.Export
		if !strings.HasPrefix(found.ImportPath, prefix) {
			continue
		}
		imports := importFunc(func(path string) (*types.Package, error) {
			if mapped, ok := found.ImportMap[path]; ok {
				path = mapped
			}
			if known := own[path]; known != nil {
				return known, nil
			}
			return compiled.Import(path)
		})
		// A literal in a literal is rewritten first, so a package is checked again until nothing is left.
		for {
			checked, count, err := rewrite(found, imports)
			if err != nil {
				return err
			}
			own[found.ImportPath] = checked
			if count == 0 {
				break
			}
		}
	}
}

type importFunc func(string) (*types.Package, error)

func (f importFunc) Import(path string) (*types.Package, error) { return f(path) }

// rewrite checks a package, rewrites its innermost literals, and returns how many these were.
func rewrite(found listed, imports types.Importer) (*types.Package, int, error) {
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range found.GoFiles {
		file, err := parser.ParseFile(set, filepath.Join(found.Dir, name), nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return nil, 0, err
		}
		files = append(files, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	// The literals are the errors.
	config := types.Config{Importer: imports, Error: func(error) {}, FakeImportC: true}
	pkg, _ := config.Check(found.ImportPath, set, files, info)
	count := 0
	for _, file := range files {
		edits := editsOf(file, pkg, info, set)
		if len(edits) == 0 {
			continue
		}
		count += len(edits)
		if err := apply(set.Position(file.Pos()).Filename, edits); err != nil {
			return nil, 0, err
		}
	}
	return pkg, count, nil
}

// edit replaces the bytes of a file from one offset to another.
type edit struct {
	from, to int
	text     string
}

func apply(name string, edits []edit) error {
	source, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	sort.Slice(edits, func(a, b int) bool { return edits[a].from > edits[b].from })
	for _, e := range edits {
		source = append(source[:e.from:e.from], append([]byte(e.text), source[e.to:]...)...)
	}
	return os.WriteFile(name, source, 0o644)
}

func editsOf(file *ast.File, pkg *types.Package, info *types.Info, set *token.FileSet) []edit {
	source, err := os.ReadFile(set.Position(file.Pos()).Filename)
	if err != nil {
		return nil
	}
	offset := func(pos token.Pos) int { return set.Position(pos).Offset }
	var edits []edit
	added := map[string]bool{}
	qualifier := func(other *types.Package) string {
		if other == pkg {
			return ""
		}
		for _, spec := range file.Imports {
			if strings.Trim(spec.Path.Value, `"`) == other.Path() {
				if spec.Name != nil {
					return spec.Name.Name
				}
				return other.Name()
			}
		}
		if !added[other.Path()] {
			added[other.Path()] = true
			end := offset(file.Name.End())
			edits = append(edits, edit{end, end, fmt.Sprintf("\n\nimport promoted%s %q\n", other.Name(), other.Path())})
		}
		return "promoted" + other.Name()
	}
	// Returns whether a literal, or one in it, was rewritten.
	var visit func(ast.Node) bool
	visit = func(node ast.Node) bool {
		isDone := false
		ast.Inspect(node, func(inner ast.Node) bool {
			literal, ok := inner.(*ast.CompositeLit)
			if !ok || inner == node {
				return true
			}
			isDone = visit(literal) || isDone
			return false
		})
		literal, ok := node.(*ast.CompositeLit)
		if !ok || isDone {
			return isDone
		}
		made := editsOfLiteral(literal, pkg, info, qualifier, source, offset)
		edits = append(edits, made...)
		return len(made) > 0
	}
	visit(file)
	return edits
}

// editsOfLiteral moves promoted fields of one literal into literals of the embedded fields.
func editsOfLiteral(literal *ast.CompositeLit, pkg *types.Package, info *types.Info, qualifier types.Qualifier, source []byte, offset func(token.Pos) int) []edit {
	outer := info.Types[literal].Type
	if outer == nil {
		return nil
	}
	if pointer, ok := outer.Underlying().(*types.Pointer); ok {
		outer = pointer.Elem()
	}
	shape, ok := outer.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	type group struct {
		field *types.Var
		first *ast.KeyValueExpr
		texts []string
	}
	groups := map[int]*group{}
	var edits []edit
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			return nil
		}
		key, ok := pair.Key.(*ast.Ident)
		if !ok {
			return nil
		}
		_, path, _ := types.LookupFieldOrMethod(outer, true, pkg, key.Name)
		if len(path) < 2 {
			continue
		}
		found := groups[path[0]]
		if found == nil {
			found = &group{field: shape.Field(path[0]), first: pair}
			groups[path[0]] = found
		}
		found.texts = append(found.texts, string(source[offset(pair.Pos()):offset(pair.End())]))
		if found.first != pair {
			end := offset(pair.End())
			for strings.ContainsRune(" \t\n", rune(source[end])) {
				end++
			}
			if source[end] == ',' {
				end++
			}
			edits = append(edits, edit{offset(pair.Pos()), end, ""})
		}
	}
	for _, found := range groups {
		name, kind := "", found.field.Type()
		if pointer, ok := kind.(*types.Pointer); ok {
			name, kind = "&", pointer.Elem()
		}
		text := fmt.Sprintf("%s: %s%s{%s}", found.field.Name(), name, types.TypeString(kind, qualifier), strings.Join(found.texts, ", "))
		edits = append(edits, edit{offset(found.first.Pos()), offset(found.first.End()), text})
	}
	return edits
}
