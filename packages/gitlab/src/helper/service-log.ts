/**
 * `append-service-log`: adds the output of a service to the log of the job. The manager reads it from the cluster and sends it to this command, because the trace
 * depends only on the log in the pod: a manager that adopts the job makes the same trace again.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { MAX_FRAME, openJobLog } from './job-log.ts'
import { FILES } from './shell-loop.ts'

export interface ServiceLogOptions {
  readonly exchangeFolder: string
  /** Position of the service among those of the job. */
  readonly service: number
  /** Name in front of its lines. */
  readonly name: string
  /** Lines as the cluster gives them: a time in RFC 3339 with nanoseconds, a space, and the text. */
  readonly input: Readable
}

const LINE = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?(.*)$/s

/** Appends the lines until the input ends. Lines that an earlier call has appended are left out, because a manager reads a log again from its start. */
export async function appendServiceLog({ exchangeFolder, service, name, input }: ServiceLogOptions): Promise<void> {
  const lastFile = join(exchangeFolder, FILES.serviceEnd(service))
  let last = existsSync(lastFile) ? BigInt(readFileSync(lastFile, 'utf8')) : -1n
  let at = 0
  const log = openJobLog(join(exchangeFolder, FILES.log), () => at)
  try {
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      const [, seconds = '', fraction = '', zone = '', text = ''] = LINE.exec(line) ?? []
      const ms = Date.parse(`${seconds}${zone}`)
      if (!Number.isFinite(ms)) continue
      const nanoseconds = BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
      if (nanoseconds <= last) continue
      last = nanoseconds
      at = Number(nanoseconds / 1_000n)
      log.write(`service-${service}`, Buffer.from(`[service:${name}] ${text.slice(0, MAX_FRAME / 8)}\n`))
      writeFileSync(lastFile, String(last), { mode: 0o600 })
    }
  } finally {
    log.close()
  }
}
