/** The own layer of a runtime as text, and the place in the text that a problem is about. Pure. */
import type { Problem } from '@windlass/kit/faults'
import { isRecord } from '@windlass/kit/json'
import type { RuntimeLayer } from '@windlass/protocol'
import { isMap, isScalar, LineCounter, parseDocument, stringify, type Document } from 'yaml'

/** A problem at a line of the text, counted from 1. */
export interface PlacedProblem {
  readonly line: number
  readonly message: string
}

/** Writes a layer as YAML. */
export function writeSpec(spec: RuntimeLayer): string {
  return Object.keys(spec).length === 0 ? '' : stringify(spec, { lineWidth: 0 })
}

/** Reads YAML or JSON. Returns the problems if it is not a mapping. */
export function readSpec(text: string): { readonly spec: RuntimeLayer } | { readonly problems: readonly PlacedProblem[] } {
  const { document, counter } = parse(text)
  if (document.errors.length > 0)
    return {
      problems: document.errors.map(({ message, pos: [start] }) => ({
        line: counter.linePos(start).line,
        message: message.split('\n')[0] ?? message,
      })),
    }
  const value: unknown = document.toJS({ maxAliasCount: 100 })
  if (value === null || value === undefined) return { spec: {} }
  return isRecord(value) ? { spec: value } : { problems: [{ line: 1, message: 'The specification is not a mapping.' }] }
}

/** Finds the lines of the problems of the server. A problem about a value that the text does not have is at what contains it, or at line 1. */
export function placeProblems(text: string, problems: readonly Problem[]): PlacedProblem[] {
  const { document, counter } = parse(text)
  return problems.map(({ path = '', message }) => {
    const keys = path.replace(/^spec(\.|$)/, '').split('.')
    const wrong = /^Unrecognized keys?: "([^"]+)"/.exec(message)?.[1]
    const offset = offsetOf(document, wrong === undefined ? keys : [...keys, wrong])
    return {
      line: offset === undefined ? 1 : counter.linePos(offset).line,
      message: path === '' ? message : `${path}: ${message}`,
    }
  })
}

function parse(text: string): { readonly document: Document.Parsed; readonly counter: LineCounter } {
  const counter = new LineCounter()
  return { document: parseDocument(text, { lineCounter: counter }), counter }
}

/** Returns the offset of the key of the deepest part of a path that the document has. Keys may contain dots. */
function offsetOf(document: Document.Parsed, path: readonly string[]): number | undefined {
  let node: unknown = document.contents
  let found: number | undefined
  for (let at = 0; at < path.length && isMap(node);) {
    const rest = path.slice(at)
    const pair = node.items
      .filter(({ key }) => isScalar(key) && `${rest.join('.')}.`.startsWith(`${String(key.value)}.`))
      .toSorted((one, other) => String(other.key).length - String(one.key).length)[0]
    if (pair === undefined || !isScalar(pair.key)) break
    found = pair.key.range?.[0] ?? found
    at += String(pair.key.value).split('.').length
    node = pair.value
  }
  return found
}
