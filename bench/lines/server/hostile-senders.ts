/** The thread that sends hostile documents until it is stopped, and then reports the responses. */
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { nodeTransport } from '@windlass/kit'
import { openClient, type ApiClient } from '@windlass/client'

export interface SenderData {
  readonly url: string
  readonly tokens: readonly string[]
  readonly callsEach: number
}

const MIB = 1_048_576

/** Documents at the size limits of the parser and beyond them. */
const DOCUMENTS: readonly string[] = [
  `a: [${'{},'.repeat(80_000)}]`,
  `[${','.repeat(240_000)}`,
  `[${','.repeat(MIB - 10)}`,
  `a: "${'\\q'.repeat(MIB / 2 - 10)}"`,
  '\n'.repeat(MIB - 10),
  `version: 1\nsteps: { a: { image: x, title: "${'${{steps.b.c}} '.repeat(69_000)}" } }`,
  `version: 1\nsteps:\n${Array.from({ length: 6_500 }, (_, n) => `  s${n}: { image: x, commands: [a, b], title: Step ${n} }\n`).join('')}`,
]

/** Delay before a refused sender retries. Shorter than Retry-After. */
const AGAIN_MS = 250

const { url, tokens, callsEach } = workerData as SenderData
const stop = new AbortController()
const answers = new Map<string, number>()
const sending = tokens.flatMap((token) => {
  const client = openClient({ url, token, transport: nodeTransport({ maxSockets: callsEach }) })
  return Array.from({ length: callsEach }, (_, n) => send(client, n))
})
parentPort?.once('message', () => {
  stop.abort()
  void Promise.all(sending).then(() => parentPort?.postMessage(answers))
})

/** Sends one document after the other. */
async function send(client: ApiClient, from: number): Promise<void> {
  for (let n = from; !stop.signal.aborted; n += 1) {
    const document = DOCUMENTS[n % DOCUMENTS.length] ?? ''
    const outcome = await client.pipelines.validate({ document }, { timeoutMs: 60_000, signal: stop.signal }).then(
      () => 'read',
      (error: { code?: unknown }) => (typeof error.code === 'string' ? error.code : 'broken off at the end'),
    )
    answers.set(outcome, (answers.get(outcome) ?? 0) + 1)
    if (outcome !== 'read') await sleep(AGAIN_MS)
  }
}
