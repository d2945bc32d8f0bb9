/** What the form of a run holds, its address, the call that it makes, and the command that does the same. */
import { defined } from '@windlass/kit/defined'
import { shellWord } from '@windlass/plan'
import type { BuildInput, PlanInput } from '@windlass/protocol'

/** A variable of the run. The value of a secret is never part of the address. */
export interface RunVariable {
  readonly name: string
  readonly value: string
  readonly isSecret: boolean
}

const TEXTS = ['branch', 'commit', 'trigger', 'runtime', 'cpu', 'memory', 'disk'] as const
const SWITCHES = ['noCache', 'noCfCache', 'resetVolume', 'enableNotifications', 'debug'] as const
/** Names separated by commas. */
const LISTS = ['only', 'skip'] as const

export type RunText = (typeof TEXTS)[number]
export type RunSwitch = (typeof SWITCHES)[number]

export type RunValues = { readonly [K in RunText | (typeof LISTS)[number]]: string } & {
  readonly [K in RunSwitch]: boolean
} & {
  readonly variables: readonly RunVariable[]
  /** One `NAME=value` on each line. */
  readonly annotations: string
}

export const NO_VALUES: RunValues = {
  branch: '',
  commit: '',
  trigger: '',
  runtime: '',
  cpu: '',
  memory: '',
  disk: '',
  only: '',
  skip: '',
  noCache: false,
  noCfCache: false,
  resetVolume: false,
  enableNotifications: false,
  debug: false,
  variables: [],
  annotations: '',
}

/** Reads the values of an address: `?branch=&v.NAME=&trigger=&only=&debug=1`. */
export function readRunValues(search: string): RunValues {
  const params = new URLSearchParams(search)
  const texts = [...TEXTS, ...LISTS].map((name) => [name, params.getAll(name).join(',')])
  const switches = SWITCHES.map((name) => [name, params.get(name) === '1'])
  const named = (start: string): [string, string][] =>
    [...params].flatMap(([name, value]) => (name.startsWith(start) ? [[name.slice(start.length), value]] : []))
  return {
    ...NO_VALUES,
    ...(Object.fromEntries([...texts, ...switches]) as Pick<RunValues, RunText | RunSwitch>),
    variables: named('v.').map(([name, value]) => ({ name, value, isSecret: false })),
    annotations: named('a.')
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
  }
}

/** Writes values as the query of an address, with `?`, or as an empty text. Secrets are left out. */
export function writeRunValues(values: RunValues): string {
  const params = new URLSearchParams()
  for (const name of [...TEXTS, ...LISTS]) if (values[name] !== '') params.set(name, values[name])
  for (const name of SWITCHES) if (values[name]) params.set(name, '1')
  for (const { name, value, isSecret } of values.variables) if (!isSecret && name !== '') params.append(`v.${name}`, value)
  for (const [name, value] of Object.entries(readPairs(values.annotations))) params.append(`a.${name}`, value)
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}

/** Returns the pairs of a text with one `NAME=value` on each line. */
function readPairs(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').flatMap((line) => /^\s*([^=\s][^=]*?)\s*=(.*)$/.exec(line) ?? [])
  const pairs: [string, string][] = []
  for (let at = 0; at < lines.length; at += 3) pairs.push([lines[at + 1] ?? '', lines[at + 2] ?? ''])
  return Object.fromEntries(pairs)
}

/** Returns what is wrong with the values, or undefined. */
export function findWrong({ variables, annotations }: RunValues): string | undefined {
  const wrong = variables.find(({ name }) => !/^[A-Za-z_]\w*$/.test(name))
  if (wrong !== undefined)
    return wrong.name === ''
      ? 'A variable has no name.'
      : `"${wrong.name}" is not the name of a variable: use letters, digits and _.`
  const twice = variables.find(({ name }, index) => variables.findIndex((other) => other.name === name) < index)
  if (twice !== undefined) return `The variable ${twice.name} is there twice.`
  const line = annotations.split('\n').findIndex((text) => text.trim() !== '' && !/^\s*[^=\s][^=]*=/.test(text))
  return line === -1 ? undefined : `Line ${line + 1} of the annotations is not NAME=value.`
}

function listOf(text: string): string[] | undefined {
  const names = text.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]))
  return names.length === 0 ? undefined : names
}

const orNone = (text: string): string | undefined => (text.trim() === '' ? undefined : text.trim())

function pairsOf(variables: readonly RunVariable[], isSecret: boolean): Record<string, string> {
  return Object.fromEntries(variables.filter((one) => one.isSecret === isSecret).map(({ name, value }) => [name, value]))
}

/** Returns the body of `POST /v1/plan`. `draft` is a document that is not stored. */
export function toPlanInput(pipeline: string, values: RunValues, draft?: string): PlanInput {
  const { branch, commit, trigger, runtime, only, skip, variables } = values
  return {
    pipeline,
    variables: pairsOf(variables, false),
    secrets: pairsOf(variables, true),
    ...defined({
      document: draft,
      branch: orNone(branch),
      revision: orNone(commit),
      trigger: orNone(trigger),
      runtime: orNone(runtime),
      only: listOf(only),
      skip: listOf(skip),
    }),
  }
}

/** Returns the body of `POST /v1/builds`. */
export function toBuildInput(pipeline: string, values: RunValues, draft?: string): BuildInput {
  const { cpu, memory, disk, annotations, noCache, noCfCache, resetVolume, enableNotifications, debug } = values
  const machine = defined({ cpu: orNone(cpu), memory: orNone(memory), disk: orNone(disk) })
  const pairs = readPairs(annotations)
  return {
    ...toPlanInput(pipeline, values, draft),
    ...(Object.keys(machine).length > 0 && { machine }),
    ...(Object.keys(pairs).length > 0 && { annotations: pairs }),
    ...(noCache && { noCache }),
    ...(noCfCache && { noCfCache }),
    ...(resetVolume && { resetVolume }),
    ...(enableNotifications && { enableNotifications }),
    ...(debug && { debug: {} }),
  }
}

const FLAGS = {
  branch: '--branch',
  commit: '--sha',
  trigger: '--trigger',
  runtime: '--runtime',
  cpu: '--cpu',
  memory: '--memory',
  disk: '--disk',
} as const satisfies Readonly<Record<RunText, string>>

const SWITCH_FLAGS = {
  noCache: '--no-cache',
  noCfCache: '--no-cf-cache',
  resetVolume: '--reset-volume',
  enableNotifications: '--enable-notifications',
  debug: '--debug',
} as const satisfies Readonly<Record<RunSwitch, string>>

/** Returns the command line that starts the same build. It reads secrets from the environment. */
export function toRunCommand(pipeline: string, values: RunValues, hasDraft = false): string {
  const words = [
    'windlass',
    'run',
    pipeline,
    ...(hasDraft ? ['-y', 'pipeline.yml'] : []),
    ...TEXTS.flatMap((name) => (orNone(values[name]) === undefined ? [] : [FLAGS[name], values[name].trim()])),
    ...values.variables.flatMap(({ name, value, isSecret }) => (isSecret ? ['-S', name] : ['-v', `${name}=${value}`])),
    ...LISTS.flatMap((name) => (listOf(values[name]) ?? []).flatMap((step) => [`--${name}`, step])),
    ...Object.entries(readPairs(values.annotations)).flatMap(([name, value]) => ['-a', `${name}=${value}`]),
    ...SWITCHES.flatMap((name) => (values[name] ? [SWITCH_FLAGS[name]] : [])),
  ]
  return words.map(shellWord).join(' ')
}
