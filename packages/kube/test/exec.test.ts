/** Commands in real containers, and attaching to them. */
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { sha256, silentLog, systemClock } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addNamespace, startCluster, type Cluster } from '../../../e2e/support/cluster.ts'
import { ensureImages } from '../../../e2e/support/images.ts'
import { execute } from '../src/exec.ts'
import { openKube, readKubeconfig, type Execution, type Kube, type ObjectRef } from '../src/index.ts'
import { openSocket } from '../src/websocket.ts'

const namespace = `kube-exec-${process.pid}`
let cluster: Cluster
let kube: Kube
let image = ''
let shell: ObjectRef

beforeAll(async () => {
  image = (await ensureImages('shell'))['SHELL_IMAGE'] ?? ''
  cluster = await startCluster()
  await cluster.load(image)
  kube = openKube({ access: await readKubeconfig(cluster.kubeconfig), log: silentLog })
  await addNamespace(cluster, namespace)
  shell = await startPod('shell', ['sleep', '600'])
})
afterAll(async () => {
  kube.close()
  await cluster.kubectl('delete', 'namespace', namespace, '--wait=false')
})

/** Starts a pod of one container and waits until it runs. */
async function startPod(name: string, command: readonly string[], container: object = {}): Promise<ObjectRef> {
  const containers = [{ name: 'main', image, imagePullPolicy: 'Never', command, ...container }]
  const spec = { restartPolicy: 'Never', terminationGracePeriodSeconds: 0, automountServiceAccountToken: false, containers }
  await cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace }, spec })
  await cluster.kubectl('--namespace', namespace, 'wait', '--for=condition=Ready', `pod/${name}`, '--timeout=180s')
  return { kind: 'Pod', namespace, name }
}

async function outcomeOf({ stdout, stderr, exit }: Execution): Promise<[string, string, number]> {
  return Promise.all([text(stdout), text(stderr), exit])
}

test('returns 15 MB of output byte by byte, with stderr apart', async () => {
  const command = ['sh', '-c', 'echo begin >&2; seq 1 2000000; echo end >&2']
  const [stdout, stderr, code] = await outcomeOf(await kube.exec(shell, { command }))
  const expected = `${Array.from({ length: 2_000_000 }, (_, n) => n + 1).join('\n')}\n`
  expect(expected.length).toBeGreaterThan(10_000_000)
  expect(sha256(stdout)).toBe(sha256(expected))
  expect([stderr, code]).toEqual(['begin\nend\n', 0])
})

test('sends 12 MB to stdin and closes it, and gets the same bytes back', async () => {
  const bytes = randomBytes(12_000_000)
  const { stdin, stdout, stderr, exit } = await kube.exec(shell, { command: ['cat'], stdin: true })
  stderr.resume()
  const [back] = await Promise.all([buffer(stdout), pipeline(Readable.from([bytes]), stdin)])
  expect(back.equals(bytes)).toBe(true)
  await expect(exit).resolves.toBe(0)
})

test('returns the exit code of a command, also of one that a signal ended', async () => {
  const run = async (script: string): Promise<number> => (await kube.exec(shell, { command: ['sh', '-c', script] })).exit
  expect([await run('exit 42'), await run('kill -9 $$'), await run('true')]).toEqual([42, 137, 0])
})

test('rejects what cannot be started with the message of the cluster', async () => {
  const { exit } = await kube.exec(shell, { command: ['no-such-program'] })
  await expect(exit).rejects.toMatchObject({ code: 'cluster-refused', message: expect.stringContaining('no-such-program') })
  await expect(kube.exec({ ...shell, name: 'missing' }, { command: ['true'] })).rejects.toMatchObject({ code: 'not-found' })
  const container = kube.exec(shell, { command: ['true'], container: 'other' })
  await expect(container).rejects.toMatchObject({ code: 'cluster-refused', message: expect.stringContaining('other') })
})

test('works without stdin on an API server that knows only v4', async () => {
  const access = await readKubeconfig(cluster.kubeconfig)
  const open: Parameters<typeof execute>[0] = async (request) => {
    const opened = await openSocket(access, { ...request, protocols: ['v4.channel.k8s.io'] })
    if ('text' in opened) throw new Error(opened.text)
    return opened
  }
  const command = ['sh', '-c', 'seq 1 200000; echo over >&2; exit 3']
  const [stdout, stderr, code] = await outcomeOf(await execute(open, systemClock, shell, { command }))
  const expected = `${Array.from({ length: 200_000 }, (_, n) => n + 1).join('\n')}\n`
  expect([sha256(stdout), stderr, code]).toEqual([sha256(expected), 'over\n', 3])
  const reader = await execute(open, systemClock, shell, { command: ['cat'], stdin: true })
  reader.stdin.end('text')
  await expect(reader.exit).rejects.toMatchObject({ code: 'cluster-refused' })
})

test('runs a shell at a terminal that is resized', async () => {
  const terminal = await kube.exec(shell, { command: ['sh'], stdin: true, tty: true })
  terminal.resize({ columns: 132, rows: 43 })
  let seen = ''
  terminal.stdout.on('data', (part: Buffer) => (seen += part.toString()))
  const ask = (): string => {
    terminal.stdin.write('stty size\n')
    return seen
  }
  await expect.poll(ask).toContain('43 132')
  terminal.resize({ columns: 80, rows: 24 })
  await expect.poll(ask).toContain('24 80')
  terminal.stdin.write('exit 7\n')
  await expect(terminal.exit).resolves.toBe(7)
})

test('ends a command with its pod, and reports no success', async () => {
  const pod = await startPod('short', ['sleep', '600'])
  const { stdout, exit } = await kube.exec(pod, { command: ['sh', '-c', 'echo started; sleep 600'] })
  await new Promise((resolve) => stdout.once('data', resolve))
  stdout.resume()
  await kube.delete(pod, { graceSeconds: 0 })
  const result = await exit.catch((error: unknown) => error)
  expect([
    137,
    expect.objectContaining({ code: 'cluster-unreachable' }),
    expect.objectContaining({ code: 'cluster-refused' }),
  ]).toContainEqual(result)
})

test('disconnects from a command when the signal is aborted', async () => {
  const stop = new AbortController()
  const { exit } = await kube.exec(shell, { command: ['sleep', '600'], signal: stop.signal })
  stop.abort()
  await expect(exit).rejects.toMatchObject({ name: 'AbortError' })
})

test('attaches to a running container, and resolves when that ends', async () => {
  const script = 'while read -r line; do echo "got $line"; done; echo over'
  const pod = await startPod('reader', ['sh', '-c', script], { stdin: true, stdinOnce: true })
  const { stdin, stdout, stderr, ended } = await kube.attach(pod, { stdin: true })
  stderr.resume()
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  for (const line of ['one', 'two']) {
    stdin.write(`${line}\n`)
    expect((await lines.next()).value).toBe(`got ${line}`)
  }
  stdin.end()
  expect((await lines.next()).value).toBe('over')
  await expect(ended).resolves.toBeUndefined()
})
