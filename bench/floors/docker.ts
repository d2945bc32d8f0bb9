/** The floor of a container: the Docker Engine API without Windlass. */
import http from 'node:http'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { MissingPartError } from '../row.ts'
import { benchConfig } from '../config.ts'

export interface ContainerTimes {
  /** Milliseconds from the create call to the first byte of output, and to the known exit code. */
  readonly firstByteMs: number
  readonly exitMs: number
  /** Milliseconds to the end of the remove call. */
  readonly removedMs: number
}

/** Called with each piece of output as it arrives, still in Docker's frames with a header of eight bytes each. */
export type OnOutput = (data: Buffer) => void

/**
 * Runs one container by API: create, attach, start, wait for its exit, remove (https://docs.docker.com/reference/api/engine/). Log driver `none`; its
 * own network namespace behind a bridge, unless `network` names an existing one.
 */
export async function runContainer(
  image: string,
  command: readonly string[],
  { onOutput, network = 'bridge' }: { readonly onOutput?: OnOutput; readonly network?: string } = {},
): Promise<ContainerTimes> {
  const startedAt = performance.now()
  const since = (): number => performance.now() - startedAt
  const body = {
    Image: image,
    Cmd: command,
    Entrypoint: [],
    AttachStdout: true,
    HostConfig: { LogConfig: { Type: 'none' }, NetworkMode: network },
  }
  const created: unknown = JSON.parse(await call('POST', '/containers/create', body))
  const id = typeof created === 'object' && created !== null && 'Id' in created ? String(created.Id) : ''
  const output = await attach(id)
  const first = Promise.withResolvers<number>()
  const closed = Promise.withResolvers<void>()
  output.on('data', (data: Buffer) => {
    first.resolve(since())
    onOutput?.(data)
  })
  output.once('close', () => closed.resolve())
  const exited = call('POST', `/containers/${id}/wait?condition=next-exit`).then(since)
  await call('POST', `/containers/${id}/start`)
  const exitMs = await exited
  await closed.promise
  first.resolve(since())
  const firstByteMs = await first.promise
  await call('DELETE', `/containers/${id}`)
  return { firstByteMs, exitMs, removedMs: since() }
}

/** Starts a container that only holds a network namespace for others to join. Pass its `network` to `runContainer`. */
export async function openNamespace(image: string): Promise<AsyncDisposable & { readonly network: string }> {
  const body = { Image: image, Cmd: ['sleep', '600'], Entrypoint: [], HostConfig: { LogConfig: { Type: 'none' } } }
  const created: unknown = JSON.parse(await call('POST', '/containers/create', body))
  const id = typeof created === 'object' && created !== null && 'Id' in created ? String(created.Id) : ''
  await call('POST', `/containers/${id}/start`)
  return {
    network: `container:${id}`,
    [Symbol.asyncDispose]: async () => void (await call('DELETE', `/containers/${id}?force=true`)),
  }
}

/** Throws `MissingPartError` if no daemon responds or if the daemon does not have this image. */
export async function requireImage(image: string): Promise<void> {
  await call('GET', `/images/${encodeURIComponent(image)}/json`).catch((error: unknown) => {
    throw new MissingPartError(
      `no Docker daemon with the image ${image} (make images): ${error instanceof Error ? error.message : String(error)}`,
    )
  })
}

/** Attaches before the start, so that no byte is missed. The response to the upgrade arrives immediately. */
function attach(id: string): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const request = http.request({
    socketPath: benchConfig.dockerSocket,
    method: 'POST',
    path: `/containers/${id}/attach?stream=1&stdout=1&stderr=1`,
    headers: { connection: 'Upgrade', upgrade: 'tcp' },
  })
  request.once('upgrade', (_answer, socket) => resolve(socket))
  request.once('error', reject)
  request.end()
  return promise
}

const agent = new http.Agent({ keepAlive: true })

async function call(method: string, path: string, body?: unknown): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
  const payload = body === undefined ? '' : JSON.stringify(body)
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload), host: 'docker' }
  const request = http.request({ socketPath: benchConfig.dockerSocket, agent, method, path, headers })
  request.once('response', resolve)
  request.once('error', reject)
  request.end(payload)
  const answer = await promise
  const answered = await text(answer)
  if ((answer.statusCode ?? 500) >= 400) throw new Error(`${method} ${path}: ${answer.statusCode} ${answered}`)
  return answered
}
