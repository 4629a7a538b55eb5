package store

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/bloomery/bloomery"
)

// TestOperations asks that every row of the table is whole, and agrees with what its
// type can do.
func TestOperations(t *testing.T) {
	names := map[string]Op{}
	for i := range operations {
		op, o := Op(i), &operations[i]
		if o.body == nil {
			if o.name != "" || o.scope != 0 || o.takes != 0 {
				t.Errorf("operation %d has a row without a body", op)
			}
			continue
		}
		if o.name == "" || o.scope == 0 || o.level == 0 || o.sent == 0 || o.takes == 0 {
			t.Errorf("operation %d lacks something: %q, %d, %d, %d, %d", op, o.name, o.scope, o.level, o.sent, o.takes)
		}
		if names[o.name] != 0 || op.String() != o.name {
			t.Errorf("operations %d and %d are both %q", op, names[o.name], o.name)
		}
		names[o.name] = op
		b := o.body()
		if b.op() != op {
			t.Errorf("the body of operation %d is of %d", op, b.op())
		}
		if _, named := b.(namer); named == (o.scope == ofPart) {
			t.Errorf("%s: scope %d does not fit %T", o.name, o.scope, b)
		}
		if _, changes := b.(changer); changes != (o.scope == ofPart) {
			t.Errorf("%s: scope %d does not fit %T", o.name, o.scope, b)
		}
		if (o.of != nil) != (o.scope == ofPart) {
			t.Errorf("%s: scope %d, and what it is of", o.name, o.scope)
		}
		if (makerOf(b) != nil) != (o.takes == newContents) {
			t.Errorf("%s makes contents, or not, and takes %d", o.name, o.takes)
		}
		if _, ok := b.(interface{ length() int }); ok != (o.takes == newText) {
			t.Errorf("%s has a text, or not, and takes %d", o.name, o.takes)
		}
		if _, ok := b.(effector); !ok && o.takes == growth {
			if _, drafts := b.(drafted); !drafts && op != OpTopKIncr {
				t.Errorf("%s: what had no room is in the log", o.name)
			}
		}
	}
}

// TestEveryBodyHasARow asks that no type that could be a body is missing in the table.
func TestEveryBodyHasARow(t *testing.T) {
	rows := map[string]bool{}
	for i := range operations {
		if make := operations[i].body; make != nil {
			rows[reflect.TypeOf(make()).Elem().Name()] = true
		}
	}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "fields" {
				continue
			}
			name := f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name
			if !rows[name] {
				t.Errorf("%s has no row in the table of operations", name)
			}
			delete(rows, name)
		}
	}
	for name := range rows {
		t.Errorf("%s has no fields", name)
	}
}

// TestNumbersWithoutARow asks that a record of an operation that is not in the table is
// one of another version, and nothing else.
func TestNumbersWithoutARow(t *testing.T) {
	for i := range operations {
		_, err := new(Record).Decode([]byte{recordVersion, byte(i), 0, 0})
		if operations[i].body == nil != errors.Is(err, bloomery.ErrVersion) {
			t.Errorf("operation %d: %v", i, err)
		}
	}
}
