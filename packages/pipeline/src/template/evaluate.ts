/** Evaluates the tree of a template within limits of steps, output and depth. */
import type { Budget } from './budget.ts'
import { findFunction } from './functions.ts'
import type { Command, Operand, Pipe, Template, TemplateNode } from './nodes.ts'
import { show } from './print.ts'
import { FunctionProblem, TemplateProblem } from './template-error.ts'
import { isList, isMap, isTrue, sortedKeys, typeName } from './values.ts'
import type { TemplateValue } from './values.ts'

export const MAX_OUTPUT = 1_048_576
const MAX_STEPS = 200_000
/** Maximum number of characters that functions return in total. */
const MAX_WORK = 8_388_608
const MAX_DEPTH = 64

interface Variable {
  readonly name: string
  value: TemplateValue
}

interface Frame {
  dot: TemplateValue
  readonly variables: Variable[]
  readonly depth: number
}

/** How a body ended. */
type Flow = 'break' | 'continue' | undefined

/** Texts whose values are not known yet. */
export interface Unknowns {
  /** Returns true for a text whose value must not decide a comparison. */
  readonly isUnknown: (text: string) => boolean
  /** Returns true for a text that will become a boolean, so that even its truth value is unknown. */
  readonly isUnknownFlag: (text: string) => boolean
}

export interface Evaluated {
  readonly text: string
  /** Offsets at which a branch or comparison depended on an unknown text. */
  readonly guessedAt: readonly number[]
}

/** Evaluates a template. Throws TemplateProblem. */
export function evaluateTemplate(template: Template, root: TemplateValue, of: { unknowns: Unknowns; budget: Budget }): Evaluated {
  const run = new Run(template, of)
  run.body(template.body, { dot: root, variables: [{ name: '$', value: root }], depth: 0 })
  return { text: run.text(), guessedAt: [...run.guessedAt] }
}

const COMPARING = new Set(['eq', 'ne', 'lt', 'le', 'gt', 'ge', 'has', 'ternary', 'bool', 'conv.Bool', 'conv.ToBool'])

class Run {
  private readonly template: Template
  private readonly parts: string[] = []
  private length = 0
  private steps = 0
  private work = 0
  private readonly unknowns: Unknowns
  private readonly budget: Budget
  readonly guessedAt = new Set<number>()

  constructor(template: Template, { unknowns, budget }: { unknowns: Unknowns; budget: Budget }) {
    this.template = template
    this.unknowns = unknowns
    this.budget = budget
  }

  text(): string {
    return this.parts.join('')
  }

  body(nodes: readonly TemplateNode[], frame: Frame): Flow {
    for (const node of nodes) {
      const flow = this.node(node, frame)
      if (flow !== undefined) return flow
    }
    return undefined
  }

  private node(node: TemplateNode, frame: Frame): Flow {
    switch (node.kind) {
      case 'text':
        this.write(node.text, 0)
        return undefined
      case 'action': {
        const value = this.pipe(node.pipe, frame)
        if (node.pipe.variables.length === 0) this.write(show(value), node.offset)
        return undefined
      }
      case 'if':
      case 'with':
        return this.choose(node, frame)
      case 'range':
        return this.range(node, frame)
      case 'template':
        this.call(node, frame)
        return undefined
      case 'break':
      case 'continue':
        return node.kind
    }
  }

  private write(text: string, offset: number): void {
    this.spend(offset)
    this.length += text.length
    if (this.length > MAX_OUTPUT) throw new TemplateProblem('the output is longer than 1 MiB', offset)
    this.parts.push(text)
  }

  private spend(offset: number): void {
    this.steps += 1
    this.budget.steps -= 1
    if (this.steps > MAX_STEPS || this.budget.steps < 0) throw new TemplateProblem('the template takes too many steps', offset)
  }

  private choose(node: Extract<TemplateNode, { kind: 'if' | 'with' | 'range' }>, frame: Frame): Flow {
    const scope = frame.variables.length
    const value = this.pipe(node.pipe, frame)
    this.noteFlag(value, node.offset)
    const inner = node.kind === 'with' && isTrue(value) ? { ...frame, dot: value } : frame
    const flow = this.body(isTrue(value) ? node.body : node.otherwise, inner)
    frame.variables.length = scope
    return flow
  }

  private range(node: Extract<TemplateNode, { kind: 'if' | 'with' | 'range' }>, frame: Frame): Flow {
    const scope = frame.variables.length
    const { pipe } = node
    const value = this.pipe({ ...pipe, variables: [] }, frame)
    const items = itemsOf(value, node.offset)
    const before = pipe.assigns ? [] : pipe.variables.map((name): Variable => ({ name, value: null }))
    frame.variables.push(...before)
    const inside = frame.variables.length
    let flow: Flow
    let count = 0
    for (const [key, item] of items) {
      this.spend(node.offset)
      count += 1
      const [first, second] = pipe.variables
      if (first !== undefined) this.set(first, second === undefined ? item : key, frame, node.offset)
      if (second !== undefined) this.set(second, item, frame, node.offset)
      flow = this.body(node.body, { ...frame, dot: item })
      frame.variables.length = inside
      if (flow === 'break') break
    }
    frame.variables.length = scope
    return count === 0 ? this.body(node.otherwise, frame) : undefined
  }

  private call(node: Extract<TemplateNode, { kind: 'template' }>, frame: Frame): void {
    const body = this.template.named.get(node.name)
    if (body === undefined) throw new TemplateProblem(`template ${JSON.stringify(node.name)} not defined`, node.offset)
    if (frame.depth >= MAX_DEPTH) throw new TemplateProblem('templates call each other too deeply', node.offset)
    const dot = node.pipe === undefined ? null : this.pipe(node.pipe, frame)
    this.body(body, { dot, variables: [{ name: '$', value: dot }], depth: frame.depth + 1 })
  }

  private set(name: string, value: TemplateValue, frame: Frame, offset: number): void {
    const known = frame.variables.findLast((variable) => variable.name === name)
    if (known === undefined) throw new TemplateProblem(`undefined variable ${JSON.stringify(name)}`, offset)
    known.value = value
  }

  private pipe(pipe: Pipe, frame: Frame): TemplateValue {
    let value: TemplateValue = null
    for (const [index, command] of pipe.commands.entries()) {
      value = this.command(command, frame, index === 0 ? undefined : { value })
    }
    const [name] = pipe.variables
    if (name !== undefined && pipe.assigns) this.set(name, value, frame, pipe.offset)
    else if (name !== undefined) frame.variables.push({ name, value })
    return value
  }

  private command(command: Command, frame: Frame, last: { value: TemplateValue } | undefined): TemplateValue {
    const [first, ...rest] = command.operands
    if (first === undefined) return null
    this.spend(first.offset)
    if (first.kind === 'function') return fieldsOf(this.apply(first, rest, { frame, last }), first.fields, first.offset)
    if (rest.length > 0 || last !== undefined) throw new TemplateProblem("can't give argument to non-function", first.offset)
    if (first.kind === 'nil') throw new TemplateProblem('nil is not a command', first.offset)
    return this.operand(first, frame)
  }

  private operand(operand: Operand, frame: Frame): TemplateValue {
    this.spend(operand.offset)
    switch (operand.kind) {
      case 'dot':
        return fieldsOf(frame.dot, operand.fields, operand.offset)
      case 'variable': {
        const known = frame.variables.findLast(({ name }) => name === operand.name)
        if (known === undefined) throw new TemplateProblem(`undefined variable ${JSON.stringify(operand.name)}`, operand.offset)
        return fieldsOf(known.value, operand.fields, operand.offset)
      }
      case 'function':
        return fieldsOf(this.apply(operand, [], { frame, last: undefined }), operand.fields, operand.offset)
      case 'pipe':
        return fieldsOf(this.pipe(operand.pipe, frame), operand.fields, operand.offset)
      case 'value':
        return operand.value
      case 'nil':
        return null
    }
  }

  private apply(
    { name, offset }: Extract<Operand, { kind: 'function' }>,
    operands: readonly Operand[],
    { frame, last }: { frame: Frame; last: { value: TemplateValue } | undefined },
  ): TemplateValue {
    if (name === 'and' || name === 'or') {
      let value: TemplateValue = null
      if (operands.length === 0 && last === undefined)
        throw new TemplateProblem(`wrong number of args for ${name}: want at least 1 got 0`, offset)
      for (const operand of operands) {
        value = this.operand(operand, frame)
        if (isTrue(value) === (name === 'or')) return value
      }
      return last === undefined ? value : last.value
    }
    const known = findFunction(name)
    if (known === undefined) throw new TemplateProblem(`function ${JSON.stringify(name)} not defined`, offset)
    const args = operands.map((operand) => this.operand(operand, frame))
    if (last !== undefined) args.push(last.value)
    const { least, most = Infinity } = known
    if (args.length < least || args.length > most) {
      const wanted = least === most ? `${least}` : args.length < least ? `at least ${least}` : `at most ${most}`
      throw new TemplateProblem(`wrong number of args for ${name}: want ${wanted} got ${args.length}`, offset)
    }
    for (const arg of args) this.charge(arg, offset)
    if (name === 'not') this.noteFlag(args[0] ?? null, offset)
    if (COMPARING.has(name) && args.some((arg) => typeof arg === 'string' && this.unknowns.isUnknown(arg)))
      this.guessedAt.add(offset)
    try {
      const value = known.run(args)
      this.charge(value, offset)
      return value
    } catch (error) {
      if (error instanceof FunctionProblem) throw new TemplateProblem(`error calling ${name}: ${error.message}`, offset)
      throw error
    }
  }

  private noteFlag(value: TemplateValue, offset: number): void {
    if (typeof value === 'string' && this.unknowns.isUnknownFlag(value)) this.guessedAt.add(offset)
  }

  /** Charges the size of a value, because functions cost what they read and produce. */
  private charge(value: TemplateValue, offset: number): void {
    const size = sizeOf(value, MAX_WORK - this.work, 0)
    this.work += size
    this.budget.work -= size
    if (this.work >= MAX_WORK || this.budget.work < 0) throw new TemplateProblem('the template is too expensive', offset)
  }
}

/** Returns the characters and items of a value, counting up to `most`. Values that are nested too deeply count as too large. */
function sizeOf(value: TemplateValue, most: number, depth: number): number {
  if (typeof value === 'string') return value.length
  if (value === null || typeof value !== 'object') return 1
  if (depth > 100) return most
  let size = 1
  for (const inner of isList(value) ? value : isMap(value) ? value.values() : []) {
    if (size >= most) return most
    size += 1 + sizeOf(inner, most - size, depth + 1)
  }
  return size
}

function fieldsOf(value: TemplateValue, fields: readonly string[], offset: number): TemplateValue {
  let at = value
  for (const field of fields) {
    if (at === null) throw new TemplateProblem(`nil data; no entry for key ${JSON.stringify(field)}`, offset)
    if (!isMap(at)) throw new TemplateProblem(`can't evaluate field ${field} in type ${typeName(at)}`, offset)
    at = at.get(field) ?? null
  }
  return at
}

function* itemsOf(value: TemplateValue, offset: number): Generator<[TemplateValue, TemplateValue]> {
  if (value === null) return
  if (isList(value)) {
    for (const [index, item] of value.entries()) yield [index, item]
  } else if (isMap(value)) {
    for (const key of sortedKeys(value)) yield [key, value.get(key) ?? null]
  } else if (typeof value === 'number' && Number.isInteger(value)) {
    for (let at = 0; at < value; at += 1) yield [at, at]
  } else {
    throw new TemplateProblem(`range can't iterate over ${typeName(value)}`, offset)
  }
}
