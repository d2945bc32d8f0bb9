/**
 * Records what steps really did, as reported by themselves: each opens a connection to this process and sends its name, then a dot for
 * every line that it writes, then its end. No component in between can hide that a step ran twice.
 */
import net from 'node:net'
import { CLUSTER_HOST } from '../../support/cluster.ts'

export interface StepSpan {
  readonly buildId: string
  readonly step: string
  /** Epoch milliseconds of its first and its latest report. */
  readonly from: number
  to: number
  /** It ended on its own. */
  isDone: boolean
}

export interface Witness extends AsyncDisposable {
  readonly spans: readonly StepSpan[]
  /** Returns a bash command for a step that writes `lines` lines, one every `pauseMs`. */
  command(step: string, lines: number, pauseMs: number): string
}

/** Returns the output of a step of `lines` lines. */
export function linesOf(lines: number): string {
  return Array.from({ length: lines }, (_, n) => `line ${n + 1}\n`).join('')
}

export async function startWitness(): Promise<Witness> {
  const spans: StepSpan[] = []
  const server = net.createServer((socket) => {
    let span: StepSpan | undefined
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      const text = chunk.toString('utf8')
      const now = Date.now()
      if (span === undefined) {
        const [buildId = '', step = ''] = text.slice(0, text.indexOf('\n')).split(' ')
        span = { buildId, step, from: now, to: now, isDone: false }
        spans.push(span)
      }
      span.to = now
      if (text.includes('end')) span.isDone = true
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    spans,
    command(step, lines, pauseMs) {
      const say = `echo "line $n"; echo . >&3; sleep ${pauseMs / 1_000}`
      const script = `exec 3>/dev/tcp/${CLUSTER_HOST}/${port}; echo "$CF_BUILD_ID ${step}" >&3; for n in $(seq 1 ${lines}); do ${say}; done; echo end >&3`
      return `bash -c '${script}'`
    },
    async [Symbol.asyncDispose]() {
      server.close()
    },
  }
}
