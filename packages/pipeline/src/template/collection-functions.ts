/** Functions for lists, maps, numbers and conversions. */
import { checkLength, fixed, listOf, mapOf, numberOf, textOf, wholeOf } from './function-kinds.ts'
import type { TemplateFunction } from './function-kinds.ts'
import { FunctionProblem } from './template-error.ts'
import { isList, isMap, isTrue, sortedKeys, toTemplateValue, typeName } from './values.ts'
import type { TemplateValue } from './values.ts'

const orDefault = fixed(2, (otherwise = null, value = null) => (isTrue(value) ? value : otherwise))
const toText = fixed(1, (value = null) => textOf(value))
const toBool = fixed(1, (value = null) =>
  typeof value === 'string' ? /^(?:1|t|true|y|yes|on)$/i.test(value.trim()) : value === true || value === 1,
)
const toInt = fixed(1, (value = null) => {
  try {
    return wholeOf(value)
  } catch {
    return 0
  }
})
const list: TemplateFunction = { least: 0, run: (args) => args }
const ternary = fixed(3, (yes = null, no = null, choice = null) => (isTrue(choice) ? yes : no))
const has = fixed(2, (a = null, b = null) => {
  if (isMap(a)) return a.has(textOf(b))
  const [items, item] = isList(a) ? [a, b] : [listOf(b), a]
  return items.includes(item)
})
const dict: TemplateFunction = {
  least: 0,
  run(args) {
    const map = new Map<string, TemplateValue>()
    for (let at = 0; at < args.length; at += 2) map.set(textOf(args[at] ?? null), args[at + 1] ?? '')
    return map
  },
}
const keys = fixed(1, (map = null) => sortedKeys(mapOf(map)))
const values = fixed(1, (map = null) => sortedKeys(mapOf(map)).map((key) => mapOf(map).get(key) ?? null))
const append = fixed(2, (a = null, b = null) => (isList(b) ? [...b, a] : [...listOf(a), b]))
const uniq = fixed(1, (items = null) => [...new Set(listOf(items))])
const reverse = fixed(1, (items = null) => listOf(items).toReversed())
const sort = fixed(1, (items = null) =>
  listOf(items).toSorted((a, b) =>
    typeof a === 'number' && typeof b === 'number' ? a - b : textOf(a) < textOf(b) ? -1 : textOf(a) > textOf(b) ? 1 : 0,
  ),
)
const merge: TemplateFunction = {
  least: 2,
  run: (args) => new Map(args.toReversed().flatMap((map) => [...mapOf(map)])),
}
const sum: TemplateFunction = { least: 1, run: (args) => args.reduce<number>((total, value) => total + numberOf(value), 0) }
const multiply: TemplateFunction = { least: 1, run: (args) => args.reduce<number>((total, value) => total * numberOf(value), 1) }
const subtract = fixed(2, (a = null, b = null) => numberOf(a) - numberOf(b))
const divide = fixed(2, (a = null, b = null) => numberOf(a) / nonZero(numberOf(b)))
const remainder = fixed(2, (a = null, b = null) => wholeOf(a) % nonZero(wholeOf(b)))
const sequence: TemplateFunction = {
  least: 1,
  most: 3,
  run(args) {
    const [from, to] = args.length === 1 ? [1, wholeOf(args[0] ?? null)] : [wholeOf(args[0] ?? null), wholeOf(args[1] ?? null)]
    const step = Math.abs(args[2] === undefined ? 1 : nonZero(wholeOf(args[2])))
    const count = Math.floor(Math.abs(to - from) / step) + 1
    checkLength(count * 16)
    return Array.from({ length: count }, (_, index) => from + (from <= to ? step : -step) * index)
  },
}
const required: TemplateFunction = {
  least: 1,
  most: 2,
  run(args) {
    const value = args.at(-1) ?? null
    if (value !== null && value !== '') return value
    throw new FunctionProblem(
      args.length === 2 ? textOf(args[0] ?? null) : 'can not render template: a required value was not set',
    )
  },
}
const fail: TemplateFunction = {
  least: 0,
  most: 1,
  run([message = 'template generation failed']) {
    throw new FunctionProblem(textOf(message))
  },
}
const toJson = fixed(1, (value = null) => JSON.stringify(plainOf(value)))
const fromJson = fixed(1, (text = null) => {
  try {
    return toTemplateValue(JSON.parse(textOf(text)))
  } catch {
    throw new FunctionProblem('the string is not JSON')
  }
})
const first = fixed(1, (items = null) => listOf(items)[0] ?? null)
const last = fixed(1, (items = null) => listOf(items).at(-1) ?? null)
const rest = fixed(1, (items = null) => listOf(items).slice(1))
const empty = fixed(1, (value = null) => !isTrue(value))

function nonZero(value: number): number {
  if (value === 0) throw new FunctionProblem('division by 0')
  return value
}

function plainOf(value: TemplateValue): unknown {
  if (isList(value)) return value.map(plainOf)
  return isMap(value) ? Object.fromEntries(sortedKeys(value).map((key) => [key, plainOf(value.get(key) ?? null)])) : value
}

export const COLLECTION_FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  default: orDefault,
  'conv.Default': orDefault,
  toString: toText,
  'conv.ToString': toText,
  'conv.ToStrings': { least: 0, run: (args) => args.map(textOf) },
  bool: toBool,
  'conv.Bool': toBool,
  'conv.ToBool': toBool,
  int: toInt,
  'conv.ToInt': toInt,
  'conv.ToInt64': toInt,
  'conv.ToFloat64': fixed(1, (value = null) => numberOf(value)),
  list,
  slice: list,
  'coll.Slice': list,
  'conv.Slice': list,
  dict,
  'coll.Dict': dict,
  has,
  'coll.Has': has,
  'conv.Has': has,
  keys,
  'coll.Keys': keys,
  values,
  'coll.Values': values,
  append,
  'coll.Append': append,
  prepend: fixed(2, (a = null, b = null) => (isList(b) ? [a, ...b] : [b, ...listOf(a)])),
  uniq,
  'coll.Uniq': uniq,
  reverse,
  'coll.Reverse': reverse,
  sort,
  'coll.Sort': sort,
  sortAlpha: sort,
  merge,
  'coll.Merge': merge,
  first,
  last,
  rest,
  empty,
  coalesce: { least: 1, run: (args) => args.find(isTrue) ?? null },
  ternary,
  'test.Ternary': ternary,
  required,
  'test.Required': required,
  fail,
  'test.Fail': fail,
  kindOf: fixed(1, (value = null) => (isList(value) ? 'slice' : isMap(value) ? 'map' : typeName(value))),
  add: sum,
  'math.Add': sum,
  sub: subtract,
  'math.Sub': subtract,
  mul: multiply,
  'math.Mul': multiply,
  div: divide,
  'math.Div': divide,
  rem: remainder,
  mod: remainder,
  'math.Rem': remainder,
  seq: sequence,
  'math.Seq': sequence,
  toJSON: toJson,
  toJson,
  'data.ToJSON': toJson,
  json: fromJson,
  fromJson,
  'data.JSON': fromJson,
}
