import { pino, type Logger as PinoLogger } from 'pino'
import { isRecord, parseJson } from './json.ts'

export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'> & {
  child(fields: Record<string, unknown>): Logger
}

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  readonly name: string
  /** File descriptor. Default: standard error, because standard output is for results. */
  readonly fd?: number
  /** `text` writes `time=… level=… msg=… key=value` for people. Default: JSON. */
  readonly format?: 'json' | 'text'
}

/** Opens a log of lines: constant messages, data in fields. Secret values are `Secret` objects and print as `[secret]`. */
export function openLog({ level, name, fd = 2, format = 'json' }: LogOptions): Logger {
  const destination = pino.destination({ fd, sync: false })
  const stream = format === 'json' ? destination : { write: (line: string) => void destination.write(textLine(line)) }
  return pino({ level, name, base: null }, stream)
}

/** Returns a line of the JSON log as text. Fields keep their order, and an error is its message. */
export function textLine(json: string): string {
  const entry = parseJson(json)
  if (!isRecord(entry)) return json
  const { time, level, msg, name, ...fields } = entry
  const at = typeof time === 'number' ? new Date(time).toISOString() : ''
  const word = typeof level === 'number' ? (pino.levels.labels[level] ?? 'info') : 'info'
  const pairs = Object.entries({ time: at, level: word, msg, name, ...fields })
  return `${pairs.flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${textOf(value)}`])).join(' ')}\n`
}

function textOf(value: unknown): string {
  const shown = isRecord(value) && typeof value['message'] === 'string' ? value['message'] : value
  const text = typeof shown === 'string' ? shown : JSON.stringify(shown)
  return /^[\w.:/@+-]+$/.test(text) ? text : JSON.stringify(text)
}

export const silentLog: Logger = pino({ level: 'silent' })
