import { checkCall } from './functions.ts'
import { tokenize } from './lexer.ts'
import type { Token } from './lexer.ts'
import { ExpressionError, MAX_EXPRESSION_CHARS } from './values.ts'
import type { Value } from './values.ts'
import type { Node, Call, Expression, Link } from './nodes.ts'

export type { TextPart } from './lexer.ts'

const PRECEDENCE: Readonly<Record<string, number>> = {
  '||': 1,
  '&&': 2,
  '==': 3,
  '!=': 3,
  '===': 3,
  '!==': 3,
  '<': 4,
  '<=': 4,
  '>': 4,
  '>=': 4,
  '+': 5,
  '-': 5,
  '*': 6,
  '/': 6,
  '%': 6,
}
const MAX_DEPTH = 64
const KEYWORDS: Readonly<Record<string, Value>> = { true: true, false: false, null: null }

/**
 * Parses an expression. Throws ExpressionError with the offset of the problem: a syntax error, an unknown function, a wrong number of
 * arguments, or a name that is neither a function nor a member of a step.
 */
export function parseExpression(text: string): Expression {
  if (text.length > MAX_EXPRESSION_CHARS)
    throw new ExpressionError(`it is longer than ${MAX_EXPRESSION_CHARS} characters`, MAX_EXPRESSION_CHARS)
  const parser = new Parser(tokenize(text))
  return { text, root: parser.whole() }
}

class Parser {
  private readonly tokens: readonly Token[]
  private next = 0
  private depth = 0

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens
  }

  whole(): Node {
    const root = this.binary(1)
    const token = this.peek()
    if (token.kind !== 'end') throw this.unexpected(token)
    return root
  }

  /** Parses operators of at least this precedence (precedence climbing); operators of one level form one chain. */
  private binary(lowest: number): Node {
    let left = this.unary()
    for (;;) {
      const token = this.peek()
      const precedence = token.kind === 'sign' && Object.hasOwn(PRECEDENCE, token.sign) ? (PRECEDENCE[token.sign] ?? 0) : 0
      if (token.kind !== 'sign' || precedence < lowest) return left
      const rest: Link[] = []
      for (let link = this.link(precedence); link !== undefined; link = this.link(precedence)) rest.push(link)
      left = { kind: 'chain', first: left, rest, at: left.at }
    }
  }

  private link(precedence: number): Link | undefined {
    const token = this.peek()
    if (token.kind !== 'sign' || PRECEDENCE[token.sign] !== precedence) return undefined
    this.next += 1
    return { operator: token.sign, right: this.binary(precedence + 1), at: token.at }
  }

  private unary(): Node {
    const token = this.peek()
    if (token.kind !== 'sign' || (token.sign !== '!' && token.sign !== '-')) return this.primary()
    this.next += 1
    return { kind: 'unary', operator: token.sign, operand: this.deeper(token, () => this.unary()), at: token.at }
  }

  private primary(): Node {
    const token = this.peek()
    this.next += 1
    switch (token.kind) {
      case 'number':
        return { kind: 'literal', value: token.value, at: token.at }
      case 'text':
        return { kind: 'text', parts: token.parts, at: token.at }
      case 'reference':
        return { kind: 'reference', name: token.name, at: token.at }
      case 'name':
        return this.named(token.name, token.at)
      case 'sign':
        if (token.sign !== '(') throw this.unexpected(token)
        return this.deeper(token, () => this.closed(this.binary(1)))
      case 'end':
        throw this.unexpected(token)
    }
  }

  private closed(inner: Node): Node {
    if (!this.take(')')) throw this.unexpected(this.peek(), ')')
    return inner
  }

  private named(name: string, at: number): Node {
    if (Object.hasOwn(KEYWORDS, name)) return { kind: 'literal', value: KEYWORDS[name] ?? null, at }
    if (this.take('(')) return this.call(name, at)
    const path = [name]
    while (this.take('.')) {
      const token = this.peek()
      if (token.kind !== 'name') throw this.unexpected(token, 'a member name')
      path.push(token.name)
      this.next += 1
    }
    if (path.length > 1) return { kind: 'path', path, at }
    throw new ExpressionError(`unknown name "${name}"; write '${name}' for a string or Variable('${name}') for a variable`, at)
  }

  private call(name: string, at: number): Node {
    const args: Node[] = []
    if (!this.take(')')) {
      do args.push(this.deeper(this.peek(), () => this.binary(1)))
      while (this.take(','))
      this.closed({ kind: 'literal', value: null, at })
    }
    const node: Call = { kind: 'call', name, args, at }
    checkCall(node)
    return node
  }

  private take(sign: string): boolean {
    const token = this.peek()
    if (token.kind !== 'sign' || token.sign !== sign) return false
    this.next += 1
    return true
  }

  private deeper(token: Token, parse: () => Node): Node {
    this.depth += 1
    if (this.depth > MAX_DEPTH) throw new ExpressionError(`it is nested more than ${MAX_DEPTH} levels deep`, token.at)
    const node = parse()
    this.depth -= 1
    return node
  }

  private peek(): Token {
    return this.tokens[Math.min(this.next, this.tokens.length - 1)] ?? { kind: 'end', at: 0, end: 0 }
  }

  private unexpected(token: Token, wanted?: string): ExpressionError {
    const found =
      token.kind === 'end'
        ? 'end of expression'
        : token.kind === 'sign'
          ? `"${token.sign}"`
          : token.kind === 'name'
            ? `"${token.name}"`
            : `a ${token.kind}`
    return new ExpressionError(`unexpected ${found}${wanted === undefined ? '' : `, expected ${wanted}`}`, token.at)
  }
}

/** Yields every node of an expression, parents first. */
export function* nodesOf(expression: Expression): Generator<Node> {
  const open: Node[] = [expression.root]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    yield node
    if (node.kind === 'call') open.push(...node.args)
    else if (node.kind === 'unary') open.push(node.operand)
    else if (node.kind === 'chain') open.push(node.first, ...node.rest.map(({ right }) => right))
  }
}
