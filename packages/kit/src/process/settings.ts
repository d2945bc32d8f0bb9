/** Settings that several processes have: fields of the schemas that `readConfig` reads. */
import { z } from 'zod'
import type { LogOptions } from '../log.ts'

/** A TCP port. 0 selects a free one. */
export const Port = z.coerce.number().int().min(0).max(65_535)

/** `PORT` of a process that serves nothing else. */
export const ProbePort = Port.optional().describe('Port for /livez, /readyz and /metrics; not served if absent.')

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const satisfies readonly LogOptions['level'][]

/** `LOG_LEVEL` */
export const LogLevel = z.enum(LEVELS).default('info').describe('Lowest log level that is written.')
