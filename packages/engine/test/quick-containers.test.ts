/** Tests that the output of very short containers, and of retried starts, is complete. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defined, systemClock } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isLong } from '../../../e2e/support/long.ts'
import { openDocker, type Docker } from '../src/index.ts'
import type { ContainerSpec } from '../src/docker/containers.ts'
import { runContainer } from '../src/containers/run-container.ts'
import { shellSpec } from './support/shell-spec.ts'

const CONTAINERS = isLong ? 600 : 40
const AT_ONCE = 4

let docker: Docker
let folder: string

beforeAll(async () => {
  docker = await openDocker({ env: process.env })
  folder = await mkdtemp(join(tmpdir(), 'windlass-start-'))
})
afterAll(async () => {
  docker.close()
  await rm(folder, { recursive: true, force: true })
})

async function outputOf(through: Docker, spec: Partial<ContainerSpec>, input?: Uint8Array): Promise<string> {
  let id = ''
  const output: Buffer[] = []
  const run = {
    docker: through,
    clock: systemClock,
    spec: shellSpec({ stdin: input !== undefined, ...spec }),
    onOutput: async (parts: readonly { readonly bytes: Buffer }[]) => void output.push(...parts.map(({ bytes }) => bytes)),
    signal: new AbortController().signal,
    graceMs: 1_000,
    ...defined({ input }),
  }
  try {
    const { exitCode } = await runContainer(run, (created) => (id = created))
    expect(exitCode).toBe(0)
    return Buffer.concat(output).toString()
  } finally {
    if (id !== '') await docker.removeContainer(id)
  }
}

test('receives the line of a container that ends at once every time', async () => {
  const lost: number[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let n = next++; n < CONTAINERS; n = next++) {
      const line = await outputOf(docker, { command: ['echo', `line ${n}`] })
      if (line !== `line ${n}\n`) lost.push(n)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  expect(lost).toEqual([])
})

const MISSING = 'no such file or directory'
/** An occasional message of runc in a nested daemon, padded to the same length. */
const TRANSIENT = 'connection reset by peer'.padEnd(MISSING.length)

/**
 * Starts a proxy in front of the daemon. The program of the container is missing at the first start, so the daemon fails it. Before the response is
 * passed on, the program is written and the reason replaced by a transient one.
 */
async function startFront(program: string): Promise<{ host: string; failed: () => number; close: () => void }> {
  let failed = 0
  const server = createServer({ allowHalfOpen: true }, (front) => {
    const back = connect({ path: '/var/run/docker.sock', allowHalfOpen: true })
    for (const [from, to] of [[front, back] as const, [back, front] as const]) {
      from.on('error', () => to.destroy())
      from.on('end', () => to.end())
    }
    front.on('data', (chunk) => back.write(chunk))
    back.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1')
      if (!text.includes('runc create failed')) return void front.write(chunk)
      failed += 1
      void writeFile(program, '#!/bin/sh\ncat\necho expected\n', { mode: 0o755 }).then(() =>
        front.write(Buffer.from(text.replace(MISSING, TRANSIENT), 'latin1')),
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { host: `tcp://127.0.0.1:${port}`, failed: () => failed, close: () => server.close() }
}

test.each([
  { what: 'without input', input: undefined, expected: 'expected\n' },
  { what: 'with input', input: Buffer.from('asked\n'), expected: 'asked\nexpected\n' },
])('receives the output of a container after a retried start, $what', async ({ what, input, expected }) => {
  const program = join(folder, what.replace(' ', '-'))
  const front = await startFront(program)
  const through = await openDocker({ env: { DOCKER_HOST: front.host } })
  try {
    const mounts = [{ type: 'bind' as const, source: folder, target: '/programs', readOnly: false }]
    const entrypoint = [`/programs/${what.replace(' ', '-')}`]
    expect(await outputOf(through, { entrypoint, mounts }, input)).toBe(expected)
    expect(front.failed()).toBe(1)
  } finally {
    through.close()
    front.close()
  }
})

test('treats an attachment that ends before its container as a lost daemon', async () => {
  const socket = '/var/run/docker.sock'
  const server = createServer((front) => {
    const back = connect({ path: socket }).on('error', () => front.destroy())
    front.on('error', () => back.destroy())
    front.pipe(back)
    back.on('data', (chunk: Buffer) => (chunk.includes('expected') ? front.end(chunk) : front.write(chunk)))
    back.on('end', () => front.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const through = await openDocker({ env: { DOCKER_HOST: `tcp://127.0.0.1:${typeof address === 'object' ? address?.port : 0}` } })
  try {
    const command = ['sh', '-c', 'echo expected; sleep 1000; echo lost']
    await expect(outputOf(through, { command })).rejects.toMatchObject({ code: 'docker-unreachable' })
  } finally {
    through.close()
    server.close()
  }
})
