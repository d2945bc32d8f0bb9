/** The tree of a template. Offsets refer to its text. */
export type TemplateNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly pipe: Pipe; readonly offset: number }
  | {
      readonly kind: 'if' | 'with' | 'range'
      readonly pipe: Pipe
      readonly body: readonly TemplateNode[]
      readonly otherwise: readonly TemplateNode[]
      readonly offset: number
    }
  | { readonly kind: 'template'; readonly name: string; readonly pipe?: Pipe; readonly offset: number }
  | { readonly kind: 'break' | 'continue'; readonly offset: number }

/** Commands from left to right. The result of each is the last argument of the next. */
export interface Pipe {
  /** Variables that receive the result; two only in `range`. */
  readonly variables: readonly string[]
  /** True for `=`, which assigns existing variables. */
  readonly assigns: boolean
  readonly commands: readonly Command[]
  readonly offset: number
}

export interface Command {
  readonly operands: readonly Operand[]
  readonly offset: number
}

/** `fields` are looked up one after the other in the value. */
export type Operand =
  | { readonly kind: 'dot'; readonly fields: readonly string[]; readonly offset: number }
  | { readonly kind: 'variable'; readonly name: string; readonly fields: readonly string[]; readonly offset: number }
  | { readonly kind: 'function'; readonly name: string; readonly fields: readonly string[]; readonly offset: number }
  | { readonly kind: 'pipe'; readonly pipe: Pipe; readonly fields: readonly string[]; readonly offset: number }
  | { readonly kind: 'value'; readonly value: string | number | boolean; readonly offset: number }
  | { readonly kind: 'nil'; readonly offset: number }

export interface Template {
  readonly body: readonly TemplateNode[]
  /** Templates defined by `define` and `block`. */
  readonly named: ReadonlyMap<string, readonly TemplateNode[]>
}
