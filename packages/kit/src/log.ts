import { pino, type Logger as PinoLogger } from 'pino'

export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'> & {
  child(fields: Record<string, unknown>): Logger
}

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  readonly name: string
  /** File descriptor. Default: standard error, because standard output is for results. */
  readonly fd?: number
}

/** Opens a log of JSON lines: constant messages, data in fields. Secret values are `Secret` objects and print as `[secret]`. */
export function openLog(options: LogOptions): Logger {
  return pino({ level: options.level, name: options.name, base: null }, pino.destination({ fd: options.fd ?? 2, sync: false }))
}

export const silentLog: Logger = pino({ level: 'silent' })
