import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isFault, systemClock } from '@windlass/kit'
import { recordPauses } from '../../../e2e/support/clocks.ts'
import { freePort } from '../../../e2e/support/process.ts'
import { awaitDocker, openDocker } from '../src/index.ts'
import { startCuttableProxy } from './support/cuttable-proxy.ts'
import { runPipeline } from './support/run-pipeline.ts'

const run = promisify(execFile)
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'certificates-'))
  const openssl = (...args: string[]) => run('openssl', args, { cwd: folder })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  await openssl('req', '-x509', ...key, '-keyout', 'ca-key.pem', '-out', 'ca.pem', '-subj', '/CN=test authority')
  const sign = ['-CA', 'ca.pem', '-CAkey', 'ca-key.pem']
  await openssl(
    'req',
    '-x509',
    ...key,
    ...sign,
    '-keyout',
    'server-key.pem',
    '-out',
    'server-cert.pem',
    '-subj',
    '/CN=dind.test',
    '-addext',
    'subjectAltName=DNS:dind.test',
  )
  await openssl('req', '-x509', ...key, ...sign, '-keyout', 'key.pem', '-out', 'cert.pem', '-subj', '/CN=client')
})

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** Starts a proxy with mutual TLS in front of the daemon's socket, as in a dind pod. */
async function startTlsFront() {
  const read = (name: string) => readFile(join(folder, name))
  const options = {
    ca: await read('ca.pem'),
    cert: await read('server-cert.pem'),
    key: await read('server-key.pem'),
    requestCert: true,
    rejectUnauthorized: true,
  }
  const server = createServer(options, (front) => {
    const back = connect('/var/run/docker.sock')
    front.on('error', () => back.destroy())
    back.on('error', () => front.destroy())
    front.pipe(back)
    back.pipe(front)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return { server, host: `tcp://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}` }
}

test('runs steps over TCP with mutual TLS and a certificate for another name', async () => {
  const { server, host } = await startTlsFront()
  try {
    const env = { DOCKER_HOST: host, DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: folder, DOCKER_TLS_SERVER_NAME: 'dind.test' }
    const result = await runPipeline("version: '1.0'\nsteps:\n  one: {image: $SHELL, commands: [echo over TLS]}\n", {
      dockerEnv: env,
    })
    expect(result.output('one')).toBe('over TLS\n')
    const wrongName = await openDocker({ env: { ...env, DOCKER_TLS_SERVER_NAME: 'other.test' } }).catch((error: unknown) => error)
    expect(isFault(wrongName, 'docker-unreachable')).toBe(true)
    const noCertificate = await openDocker({
      env: { DOCKER_HOST: host, DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: tmpdir() },
    }).catch((error: unknown) => error)
    expect(isFault(noCertificate, 'docker-unreachable')).toBe(true)
  } finally {
    server.close()
  }
})

test('connects quickly to a daemon that starts later', async () => {
  const port = await freePort()
  const host = `tcp://127.0.0.1:${port}`
  const clock = recordPauses(systemClock)
  const waiting = awaitDocker({ env: { DOCKER_HOST: host } }, { clock, signal: AbortSignal.timeout(60_000) })
  while (clock.pauses.length < 15) await systemClock.sleep(5)
  expect(Math.max(...clock.pauses.slice(0, 15))).toBeLessThanOrEqual(40)
  await using proxy = await startCuttableProxy('/var/run/docker.sock', port)
  const docker = await waiting
  expect(docker.host).toBe(proxy.host)
  expect(docker.api).toMatch(/^1\.\d+$/)
  docker.close()
})
