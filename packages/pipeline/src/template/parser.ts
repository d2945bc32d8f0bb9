/** Parses the pieces of a template to a tree. Nesting is limited, and variables must be declared before use, as in Go. */
import { isFunction, NAMESPACES } from './functions.ts'
import { splitTemplate } from './lexer.ts'
import type { Delimiters, Piece, Token } from './lexer.ts'
import type { Command, Operand, Pipe, Template, TemplateNode } from './nodes.ts'
import { TemplateProblem } from './template-error.ts'

const MAX_NESTING = 100
/** Limit for variables that are declared at one place, because each use of a variable looks through them. */
const MAX_VARIABLES = 1_000

/** Parses a template. Throws TemplateProblem. */
export function parseTemplate(text: string, delimiters: Delimiters): Template {
  return new Parser(splitTemplate(text, delimiters), text.length).parse()
}

interface Stop {
  /** `end`, or `else` with the tokens after it. */
  readonly word: 'end' | 'else' | 'eof'
  readonly rest: readonly Token[]
  readonly offset: number
}

class Parser {
  private readonly pieces: readonly Piece[]
  private readonly end: number
  private readonly named = new Map<string, readonly TemplateNode[]>()
  private at = 0
  private nesting = 0
  private loops = 0
  private variables: string[] = ['$']

  constructor(pieces: readonly Piece[], end: number) {
    this.pieces = pieces
    this.end = end
  }

  parse(): Template {
    const { body, stop } = this.list()
    if (stop.word !== 'eof') throw new TemplateProblem(`unexpected {{${stop.word}}}`, stop.offset)
    return { body, named: this.named }
  }

  private list(): { body: TemplateNode[]; stop: Stop } {
    const body: TemplateNode[] = []
    for (let piece = this.pieces[this.at]; piece !== undefined; piece = this.pieces[this.at]) {
      this.at += 1
      if (piece.kind === 'text') {
        body.push({ kind: 'text', text: piece.text })
        continue
      }
      const [first, ...rest] = piece.tokens
      if (first === undefined) throw new TemplateProblem('missing value for command', piece.offset)
      const word = first.kind === 'word' ? first.text : ''
      if (word === 'end' || word === 'else') return { body, stop: { word, rest, offset: piece.offset } }
      const node = this.node(word, { rest, tokens: piece.tokens, offset: piece.offset })
      if (node !== undefined) body.push(node)
    }
    return { body, stop: { word: 'eof', rest: [], offset: this.end } }
  }

  private node(
    word: string,
    { rest, tokens, offset }: { rest: readonly Token[]; tokens: readonly Token[]; offset: number },
  ): TemplateNode | undefined {
    switch (word) {
      case 'if':
      case 'with':
      case 'range':
        return this.control(word, rest, offset)
      case 'break':
      case 'continue':
        if (this.loops === 0) throw new TemplateProblem(`{{${word}}} outside {{range}}`, offset)
        if (rest.length > 0) throw new TemplateProblem(`unexpected ${rest[0]?.text} in {{${word}}}`, offset)
        return { kind: word, offset }
      case 'template':
        return this.call(rest, offset)
      case 'define':
        this.define(rest, offset)
        return undefined
      case 'block':
        return this.block(rest, offset)
      default:
        return { kind: 'action', pipe: this.pipe(tokens, { offset, most: 1 }), offset }
    }
  }

  private control(kind: 'if' | 'with' | 'range', tokens: readonly Token[], offset: number): TemplateNode {
    this.enter(offset)
    const scope = this.variables.length
    const pipe = this.pipe(tokens, { offset, most: kind === 'range' ? 2 : 1 })
    this.loops += kind === 'range' ? 1 : 0
    const { body, stop } = this.list()
    this.loops -= kind === 'range' ? 1 : 0
    const otherwise = stop.word === 'else' ? this.otherwise(kind, stop) : []
    if (stop.word === 'eof') throw new TemplateProblem(`{{${kind}}} has no {{end}}`, offset)
    this.variables.length = scope
    this.nesting -= 1
    return { kind, pipe, body, otherwise, offset }
  }

  /** Parses `else`, `else if` and `else with`; a chained one shares the `end` of the whole. */
  private otherwise(kind: 'if' | 'with' | 'range', stop: Stop): TemplateNode[] {
    const [next, ...tokens] = stop.rest
    if (next !== undefined) {
      const chained = next.kind === 'word' && next.text === kind && (kind === 'if' || kind === 'with')
      if (!chained) throw new TemplateProblem(`unexpected ${next.text} in {{else}}`, next.offset)
      return [this.control(kind, tokens, stop.offset)]
    }
    const { body, stop: last } = this.list()
    if (last.word === 'else') throw new TemplateProblem('expected end; found {{else}}', last.offset)
    if (last.word === 'eof') throw new TemplateProblem(`{{${kind}}} has no {{end}}`, stop.offset)
    return body
  }

  private call(tokens: readonly Token[], offset: number): TemplateNode {
    const [name, ...rest] = tokens
    if (name?.kind !== 'string') throw new TemplateProblem('{{template}} needs a name in quotes', offset)
    return {
      kind: 'template',
      name: name.text,
      offset,
      ...(rest.length > 0 && { pipe: this.pipe(rest, { offset, most: 0 }) }),
    }
  }

  private define(tokens: readonly Token[], offset: number): void {
    const [name, ...rest] = tokens
    if (name?.kind !== 'string' || rest.length > 0) throw new TemplateProblem('{{define}} needs a name in quotes', offset)
    if (this.nesting > 0) throw new TemplateProblem('unexpected {{define}}', offset)
    this.body(name.text, offset)
  }

  private block(tokens: readonly Token[], offset: number): TemplateNode {
    const [name, ...rest] = tokens
    if (name?.kind !== 'string' || rest.length === 0)
      throw new TemplateProblem('{{block}} needs a name in quotes and a value', offset)
    const pipe = this.pipe(rest, { offset, most: 0 })
    this.body(name.text, offset)
    return { kind: 'template', name: name.text, pipe, offset }
  }

  private body(name: string, offset: number): void {
    this.enter(offset)
    const outer = this.variables
    const loops = this.loops
    this.variables = ['$']
    this.loops = 0
    const { body, stop } = this.list()
    if (stop.word !== 'end') throw new TemplateProblem(`template ${JSON.stringify(name)} has no {{end}}`, offset)
    this.named.set(name, body)
    this.variables = outer
    this.loops = loops
    this.nesting -= 1
  }

  private enter(offset: number): void {
    this.nesting += 1
    if (this.nesting > MAX_NESTING) throw new TemplateProblem(`nested more than ${MAX_NESTING} levels deep`, offset)
  }

  private pipe(tokens: readonly Token[], of: { offset: number; most: number }): Pipe {
    const { variables, assigns, length } = declaration(tokens, of.most)
    for (const name of variables) {
      if (assigns && !this.variables.includes(name))
        throw new TemplateProblem(`undefined variable ${JSON.stringify(name)}`, of.offset)
    }
    const cursor = { tokens: tokens.slice(length), at: 0 }
    const pipe = this.commands(cursor, { offset: of.offset, inside: false })
    if (!assigns) this.variables.push(...variables)
    if (this.variables.length > MAX_VARIABLES)
      throw new TemplateProblem(`more than ${MAX_VARIABLES} variables are declared`, of.offset)
    return { ...pipe, variables, assigns }
  }

  private commands(cursor: Cursor, of: { offset: number; inside: boolean }): Pipe {
    const commands: Command[] = []
    let operands: Operand[] = []
    let offset = cursor.tokens[cursor.at]?.offset ?? of.offset
    const finish = (): void => {
      if (operands.length === 0) throw new TemplateProblem('missing value for command', offset)
      const [first] = operands
      if (commands.length > 0 && (first?.kind === 'value' || first?.kind === 'nil'))
        throw new TemplateProblem('non executable command in pipeline', offset)
      commands.push({ operands, offset })
      operands = []
    }
    for (let token = cursor.tokens[cursor.at]; token !== undefined; token = cursor.tokens[cursor.at]) {
      if (token.kind === 'close' && of.inside) break
      if (token.kind === 'pipe') {
        finish()
        cursor.at += 1
        offset = cursor.tokens[cursor.at]?.offset ?? token.offset
        continue
      }
      if (operands.length > 0 && !token.spaced && token.kind !== 'open')
        throw new TemplateProblem(`unexpected ${JSON.stringify(token.text)} in operand`, token.offset)
      operands.push(this.operand(cursor, token))
    }
    finish()
    return { variables: [], assigns: false, commands, offset: of.offset }
  }

  private operand(cursor: Cursor, token: Token): Operand {
    cursor.at += 1
    const { offset } = token
    switch (token.kind) {
      case 'dot':
        return { kind: 'dot', fields: [], offset }
      case 'field':
        return { kind: 'dot', fields: [token.text, ...fieldsAfter(cursor)], offset }
      case 'variable':
        if (!this.variables.includes(token.text))
          throw new TemplateProblem(`undefined variable ${JSON.stringify(token.text)}`, offset)
        return { kind: 'variable', name: token.text, fields: fieldsAfter(cursor), offset }
      case 'string':
        return { kind: 'value', value: token.text, offset }
      case 'number':
        return { kind: 'value', value: toNumber(token), offset }
      case 'open':
        return this.group(cursor, offset)
      case 'word':
        return word(cursor, token)
      default:
        throw new TemplateProblem(`unexpected ${JSON.stringify(token.text)} in operand`, offset)
    }
  }

  private group(cursor: Cursor, offset: number): Operand {
    this.enter(offset)
    const pipe = this.commands(cursor, { offset, inside: true })
    cursor.at += 1
    this.nesting -= 1
    return { kind: 'pipe', pipe, fields: fieldsAfter(cursor), offset }
  }
}

interface Cursor {
  readonly tokens: readonly Token[]
  at: number
}

/** Reads `$x :=`, `$x =`, or `$i, $x :=` in `range`; empty if the tokens begin otherwise. */
function declaration(tokens: readonly Token[], most: number): { variables: string[]; assigns: boolean; length: number } {
  const none = { variables: [], assigns: false, length: 0 }
  const [first, sign, second, last] = tokens
  if (most === 0 || first?.kind !== 'variable' || first.text === '$' || sign === undefined) return none
  if (sign.kind === 'declare' || sign.kind === 'assign')
    return { variables: [first.text], assigns: sign.kind === 'assign', length: 2 }
  if (sign.kind !== 'comma') return none
  if (most < 2 || second?.kind !== 'variable' || (last?.kind !== 'declare' && last?.kind !== 'assign'))
    throw new TemplateProblem('too many declarations', sign.offset)
  return { variables: [first.text, second.text], assigns: last.kind === 'assign', length: 4 }
}

function fieldsAfter(cursor: Cursor): string[] {
  const fields: string[] = []
  for (let next = cursor.tokens[cursor.at]; next?.kind === 'field' && !next.spaced; next = cursor.tokens[cursor.at]) {
    fields.push(next.text)
    cursor.at += 1
  }
  return fields
}

function word(cursor: Cursor, token: Token): Operand {
  const { offset, text } = token
  if (text === 'true' || text === 'false') return { kind: 'value', value: text === 'true', offset }
  if (text === 'nil') return { kind: 'nil', offset }
  const fields = fieldsAfter(cursor)
  const [member, ...others] = fields
  const name = NAMESPACES.has(text) && member !== undefined ? `${text}.${member}` : text
  if (!isFunction(name)) throw new TemplateProblem(`function ${JSON.stringify(name)} not defined`, offset)
  return { kind: 'function', name, fields: name === text ? fields : others, offset }
}

function toNumber({ text, offset }: Token): number {
  const plain = text.replaceAll('_', '')
  const octal = /^([+-]?)0([0-7]+)$/.exec(plain)
  const sign = plain.startsWith('-') ? -1 : 1
  const number = octal === null ? sign * Number(plain.replace(/^[+-]/, '')) : sign * Number.parseInt(octal[2] ?? '', 8)
  if (!Number.isFinite(number)) throw new TemplateProblem(`bad number syntax: ${JSON.stringify(text)}`, offset)
  return number
}
