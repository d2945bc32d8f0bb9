/** moto, which simulates APIs of AWS: EC2, STS, S3. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort, startService, type Service } from './process.ts'

export interface Moto extends AsyncDisposable {
  readonly url: string
  readonly service: Service
}

/** Starts a server with empty state, and installs moto first if needed. Pods reach it if it listens on the address of the node. */
export async function startMoto(host = '127.0.0.1'): Promise<Moto> {
  const script = join(import.meta.dirname, '../../scripts/moto')
  const { stdout } = await promisify(execFile)(script, ['install'])
  const port = await freePort()
  const url = `http://${host}:${port}`
  const ready = async (): Promise<boolean> => (await fetch(`${url}/moto-api/`).catch(() => undefined))?.ok === true
  const service = await startService({
    command: stdout.trim(),
    args: ['-H', host, '-p', String(port)],
    ready,
  })
  return { url, service, [Symbol.asyncDispose]: () => service.stop() }
}
