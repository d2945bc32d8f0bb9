/** A million lines through one step: time, processor, memory, and whether every byte is stored. */
import { createHash } from 'node:crypto'
import { runContainer } from '../../floors/docker.ts'
import { cpuSeconds, peakRssMiB } from '../../floors/processes.ts'
import { sample, single, spread, type Line, type Row } from '../../row.ts'
import { benchImages, openLocalStack, toDocument, type LocalStack } from '../../stack/local.ts'

const LINES = 1_000_000
const RUNS = 3
const OWN = Buffer.from('[SYSTEM]')
const COMMAND = `awk 'BEGIN { for (n = 0; n < ${LINES}; n++) printf "%080d\\n", n }'`

export const logMillion: Line = { name: 'log-million', measure }

async function measure(): Promise<Row[]> {
  const { shell } = await benchImages()
  const document = toDocument({ lines: { image: shell, command: COMMAND } })
  await using stack = await openLocalStack()
  const wanted = expectedHash()
  const seconds: number[] = []
  const cpus: number[] = []
  for (let n = 0; n < RUNS; n += 1) {
    const run = await runOnce(stack, document, wanted)
    seconds.push(run.seconds)
    cpus.push(run.cpu)
  }
  const peak = await peakRssMiB(stack.pid)
  let bytes = 0
  const floor = await sample(3, 0, async () => {
    const times = await runContainer(shell, ['sh', '-c', COMMAND], { onOutput: (data) => (bytes += data.length) })
    return times.exitMs / 1_000
  })
  return [
    {
      name: 'log-million',
      figure: `one step, ${LINES} lines of 81 bytes, build submitted -> success recorded; every run's stored log compared by SHA-256`,
      unit: 's',
      value: spread(seconds),
      warmUp: 0,
      floor: { what: 'the same container attached by API, bytes dropped', value: floor },
      goal: 4,
      goalRatio: 1.2,
      note: `stored byte for byte in ${RUNS} of ${RUNS} runs; the floor read ${(bytes / 3 / 1e6).toFixed(0)} MB each`,
    },
    {
      name: 'log-million-cpu',
      figure: 'processor time of server, agent and engine for it, from submit to success',
      unit: 's',
      value: spread(cpus),
      warmUp: 0,
      goal: 1.5,
    },
    {
      name: 'log-million-rss',
      figure: 'peak memory of the one process that is server, agent and engine, after all runs',
      unit: 'MiB',
      value: single(peak),
      warmUp: 0,
    },
  ]
}

/** The log is read back for the comparison after the measurement. */
async function runOnce(stack: LocalStack, document: string, wanted: string): Promise<{ seconds: number; cpu: number }> {
  const cpuBefore = await cpuSeconds(stack.pid)
  const startedAt = performance.now()
  const { id } = await stack.submit(document)
  const status = await waitFinal(stack, id)
  const seconds = (performance.now() - startedAt) / 1_000
  const cpu = (await cpuSeconds(stack.pid)) - cpuBefore
  if (status !== 'success') throw new Error(`the build ended as ${status}`)
  const parts: Uint8Array[] = []
  const query = { stream: 'step/lines', attempt: 1 }
  for await (const part of await stack.client.builds.logBytes(id, { query })) parts.push(part)
  if (hashOf(withoutOwnLines(Buffer.concat(parts))) !== wanted) throw new Error('the stored log is not what the step wrote')
  return { seconds, cpu }
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** The output is preceded and followed by lines of the engine itself. */
function withoutOwnLines(log: Buffer): Buffer {
  let start = 0
  while (log.subarray(start, start + 8).equals(OWN)) start = log.indexOf('\n', start) + 1
  const tail = log.indexOf(OWN, start)
  return log.subarray(start, tail < 0 ? log.length : tail)
}

/** Waits only for the end. Following the log, or polling the build all the time, would cost what is measured here. */
async function waitFinal({ client }: LocalStack, id: string): Promise<string> {
  for (;;) {
    const query = { timeoutMs: 60_000 }
    const { status } = await client.builds.wait(id, { query, timeoutMs: 90_000 })
    if (['success', 'error', 'terminated'].includes(status)) return status
  }
}

function expectedHash(): string {
  const hash = createHash('sha256')
  for (let n = 0; n < LINES; n += 1) hash.update(`${String(n).padStart(80, '0')}\n`)
  return hash.digest('hex')
}
