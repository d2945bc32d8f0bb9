/**
 * Evaluates the expression language of conditions. Text is parsed once into a tree; there is no `eval`. References `${{NAME}}` are operands
 * of the tree, so that no value can change the meaning of an expression. The parser is in `parser.ts`, the functions in
 * `functions.ts`.
 */
import { callFunction } from './functions.ts'
import type { TextPart } from './parser.ts'
import { ExpressionError, MAX_EXPRESSION_CHARS, typeName } from './values.ts'
import type { Value } from './values.ts'
import type { Scope } from './substitute.ts'
import { substitute } from './substitute.ts'
import type { Chain, Expression, Node } from './nodes.ts'

export { parseExpression } from './parser.ts'
export type { Expression } from './nodes.ts'
export { ExpressionError } from './values.ts'
export type { Value } from './values.ts'

/** A scope that can also tell whether a name is a step. */
export interface ExpressionScope extends Scope {
  isStep(name: string): boolean
}

/** Evaluates an expression. Throws only ExpressionError. */
export function evaluate(expression: Expression, scope: ExpressionScope): Value {
  if (substitute(expression.text, scope).text.length > MAX_EXPRESSION_CHARS) {
    throw new ExpressionError(`it is longer than ${MAX_EXPRESSION_CHARS} characters after variable substitution`, 0)
  }
  return valueOf(expression.root, scope)
}

/** Returns false for the empty string, 0, false, null and NaN; true for all other values. */
export function isTruthy(value: Value): boolean {
  return value !== '' && value !== 0 && value !== false && value !== null && !Number.isNaN(value)
}

function valueOf(node: Node, scope: ExpressionScope): Value {
  switch (node.kind) {
    case 'literal':
      return node.value
    case 'text':
      return node.parts.map((part) => partText(part, scope)).join('')
    case 'reference':
      return referenceValue(node.name, scope)
    case 'path':
      return pathValue(node.path, node.at, scope)
    case 'call':
      return callFunction(node, (argument) => valueOf(argument, scope), scope)
    case 'unary':
      return unaryValue(node.operator, valueOf(node.operand, scope), node.at)
    case 'chain':
      return chainValue(node, scope)
  }
}

function partText(part: TextPart, scope: Scope): string {
  return typeof part === 'string' ? part : substitute(`\${{${part.name}}}`, scope).text
}

/** Returns the value of an unquoted reference: a number or boolean if the text looks like one, otherwise a string. */
function referenceValue(name: string, scope: Scope): Value {
  const text = partText({ name }, scope)
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : text
}

function pathValue(path: readonly string[], at: number, scope: ExpressionScope): Value {
  const [first = '', second = ''] = path
  const name = path.join('.')
  if (name === 'workflow.result') return scope.lookup(name) ?? null
  const step = first === 'steps' || first === 'parentSteps' ? second : first
  if (!scope.isStep(step)) throw new ExpressionError(`step "${step}" does not exist`, at)
  return scope.lookup(name) ?? null
}

function unaryValue(operator: '!' | '-', value: Value, at: number): Value {
  if (operator === '!') return !isTruthy(value)
  if (typeof value !== 'number') throw new ExpressionError(`"-" needs a number, not ${typeName(value)}`, at)
  return -value
}

function chainValue(chain: Chain, scope: ExpressionScope): Value {
  let left = valueOf(chain.first, scope)
  for (const { operator, right, at } of chain.rest) {
    if (operator === '||') left = isTruthy(left) ? left : valueOf(right, scope)
    else if (operator === '&&') left = isTruthy(left) ? valueOf(right, scope) : left
    else left = binaryValue(operator, { left, right: valueOf(right, scope), at })
  }
  return left
}

interface Operands {
  readonly left: Value
  readonly right: Value
  readonly at: number
}

function binaryValue(operator: string, operands: Operands): Value {
  const { left, right } = operands
  switch (operator) {
    case '==':
    case '===':
      return isEqual(left, right)
    case '!=':
    case '!==':
      return !isEqual(left, right)
    case '<':
    case '<=':
    case '>':
    case '>=':
      return isOrdered(operator, operands)
    case '+':
      if (typeof left === 'string' || typeof right === 'string') return `${left}${right}`
      return arithmetic(operator, operands)
    default:
      return arithmetic(operator, operands)
  }
}

/** Compares two values. Values of different types are never equal, except that a boolean equals its text. */
function isEqual(left: Value, right: Value): boolean {
  if (typeof left === 'boolean' && typeof right === 'string') return String(left) === right
  if (typeof left === 'string' && typeof right === 'boolean') return left === String(right)
  return left === right
}

function isOrdered(operator: '<' | '<=' | '>' | '>=', { left, right, at }: Operands): boolean {
  const comparable =
    (typeof left === 'number' && typeof right === 'number') || (typeof left === 'string' && typeof right === 'string')
  if (!comparable) throw new ExpressionError(`"${operator}" cannot compare ${typeName(left)} with ${typeName(right)}`, at)
  switch (operator) {
    case '<':
      return left < right
    case '<=':
      return left <= right
    case '>':
      return left > right
    case '>=':
      return left >= right
  }
}

function arithmetic(operator: string, { left, right, at }: Operands): number {
  if (typeof left !== 'number' || typeof right !== 'number') {
    throw new ExpressionError(`"${operator}" needs two numbers, not ${typeName(left)} and ${typeName(right)}`, at)
  }
  if ((operator === '/' || operator === '%') && right === 0) throw new ExpressionError('division by zero', at)
  switch (operator) {
    case '+':
      return left + right
    case '-':
      return left - right
    case '*':
      return left * right
    case '/':
      return left / right
    default:
      return left % right
  }
}
