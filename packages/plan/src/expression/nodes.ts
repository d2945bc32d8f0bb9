/** Nodes of parsed expressions. */
import type { TextPart } from './lexer.ts'
import type { Value } from './values.ts'

/** `at`: 0-based offset in the text. */
export type Node =
  | { readonly kind: 'literal'; readonly value: Value; readonly at: number }
  | { readonly kind: 'text'; readonly parts: readonly TextPart[]; readonly at: number }
  | { readonly kind: 'reference'; readonly name: string; readonly at: number }
  | { readonly kind: 'path'; readonly path: readonly string[]; readonly at: number }
  | Call
  | { readonly kind: 'unary'; readonly operator: '!' | '-'; readonly operand: Node; readonly at: number }
  | Chain

export interface Call {
  readonly kind: 'call'
  readonly name: string
  readonly args: readonly Node[]
  readonly at: number
}

/** A row of operators of one precedence, applied from left to right. Flat, so that a long row does not need a deep stack. */
export interface Chain {
  readonly kind: 'chain'
  readonly first: Node
  readonly rest: readonly Link[]
  readonly at: number
}

/** A parsed expression with its source text. */
export interface Expression {
  readonly text: string
  readonly root: Node
}

export interface Link {
  readonly operator: string
  readonly right: Node
  readonly at: number
}
