/** Records when scripts of jobs really began, as reported by themselves: no component in between can hide that one ran twice. */
import net from 'node:net'
import { CLUSTER_HOST } from '../../support/cluster.ts'

export interface Witness extends AsyncDisposable {
  /** Number of reports so far. */
  readonly reports: number
  /** Returns when the script of a job began. Epoch milliseconds. */
  runsOf(job: number): number[]
  /** Returns a command that reports the begin of a job, and waits until it is heard. */
  command(job: number): string
}

export async function startWitness(): Promise<Witness> {
  const runs: { readonly job: number; readonly at: number }[] = []
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (chunk) => {
      runs.push({ job: Number.parseInt(chunk.toString('utf8'), 10), at: Date.now() })
      socket.end('heard\n')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, CLUSTER_HOST, resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    get reports() {
      return runs.length
    },
    runsOf: (job) => runs.filter((run) => run.job === job).map(({ at }) => at),
    command: (job) => `bash -c 'exec 3<>/dev/tcp/${CLUSTER_HOST}/${port}; echo ${job} >&3; read -r heard <&3'`,
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
