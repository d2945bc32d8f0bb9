import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readRuntimeFiles, type RuntimeFiles } from './runtime-files.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'runtimes-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

const here = { server: 'https://here', insecure: false, namespace: 'own' }
const read = (): RuntimeFiles => readRuntimeFiles(dir, { insecure: false, here })
const write = (name: string, fields: object): void => writeFileSync(join(dir, name), JSON.stringify(fields))
const file = { type: 'runtime', host: 'https://10.0.0.1:6443/', token: 'abc', crt: '-----BEGIN CERTIFICATE-----' }

test('reads each file as a runtime with its own host, token and certificate authority, and ignores other files (R237, R144)', () => {
  mkdirSync(join(dir, 'deep'))
  write('a.runtime.yaml', { ...file, name: 'ctx/builds' })
  write('deep/b.runtime.yaml', { ...file, name: 'b', crt: Buffer.from(file.crt).toString('base64') })
  write('notes.yaml', { type: 'other' })
  const { runtimes, problems } = read()
  expect(problems).toEqual([])
  expect(runtimes.map(({ name }) => name)).toEqual(['ctx/builds', 'b'])
  expect(runtimes[0]?.access).toMatchObject({ server: 'https://10.0.0.1:6443', ca: file.crt, insecure: false })
  expect(runtimes[0]?.access.token?.()).toBe('abc')
  expect(runtimes[1]?.access.ca).toBe(file.crt)
})

test('takes the namespace from the name, else from the service account of the token', () => {
  const claims = Buffer.from(JSON.stringify({ 'kubernetes.io': { namespace: 'of-token' } })).toString('base64url')
  write('a.runtime.yaml', { ...file, name: 'ctx@x:y/builds' })
  write('b.runtime.yaml', { ...file, name: 'plain', token: `x.${claims}.y` })
  write('c.runtime.yaml', { ...file, name: 'opaque' })
  write('d.runtime.yaml', { ...file, name: 'told/other', namespaces: ['said'] })
  const { runtimes } = read()
  expect(runtimes.map(({ access }) => access.namespace)).toEqual(['builds', 'of-token', 'default', 'other'])
  expect(runtimes[3]?.namespaces).toEqual(['said'])
})

test('reports the problem of a file without its contents, and serves the others (A21)', () => {
  write('good.runtime.yaml', { ...file, name: 'good' })
  writeFileSync(join(dir, 'broken.runtime.yaml'), 'token: [s3cret\nhost')
  write('type.runtime.yaml', { ...file, type: 's3cret', name: 'x' })
  write('host.runtime.yaml', { ...file, host: 's3cret', name: 'y' })
  write('token.runtime.yaml', { type: 'runtime', name: 'z', host: 'https://z' })
  const { runtimes, problems } = read()
  expect(runtimes.map(({ name }) => name)).toEqual(['good'])
  expect(problems.map(({ file: path }) => path)).toEqual(
    ['broken', 'host', 'token', 'type'].map((name) => `${name}.runtime.yaml`),
  )
  expect(JSON.stringify(problems)).not.toContain('s3cret')
})

test('uses the first of two files with one name and reports the second as a problem (R237)', () => {
  write('a.runtime.yaml', { ...file, name: 'same' })
  write('b.runtime.yaml', { ...file, name: 'same', host: 'https://other' })
  const { runtimes, problems } = read()
  expect(runtimes.map(({ access }) => access.server)).toEqual(['https://10.0.0.1:6443'])
  expect(problems).toEqual([{ file: 'b.runtime.yaml', message: 'it names the runtime same, which a.runtime.yaml names already' }])
})

test('reads a mounted Secret once, whose files are links into a folder that is swapped', () => {
  mkdirSync(join(dir, '..2026'))
  writeFileSync(join(dir, '..2026', 'a.runtime.yaml'), JSON.stringify({ ...file, name: 'a' }))
  symlinkSync('..2026', join(dir, '..data'))
  symlinkSync(join('..data', 'a.runtime.yaml'), join(dir, 'a.runtime.yaml'))
  expect(read()).toMatchObject({ runtimes: [{ name: 'a' }], problems: [] })
})

test('reads a file for the cluster of the agent itself', () => {
  write('own.runtime.yaml', { type: 'runtime', name: 'own/builds', inCluster: true, qps: 20, burst: 40 })
  expect(read().runtimes).toMatchObject([{ access: here, qps: 20, burst: 40 }])
})

test('reports a missing folder as a problem', () => {
  const { runtimes, problems } = readRuntimeFiles(join(dir, 'absent'), { insecure: false })
  expect([runtimes.length, problems.length]).toEqual([0, 1])
})

test('reads the policy of a cluster by the names of the settings', () => {
  const policy = { PRIVILEGED_IMAGES: 'registry.b.example/dind', PLACEMENTS: '[{"nodeSelector":{"pool":"builds"}}]' }
  write('a.runtime.yaml', { ...file, name: 'a', policy })
  write('b.runtime.yaml', { ...file, name: 'b', policy: { PRIVILEGED: 'x' } })
  write('c.runtime.yaml', { ...file, name: 'c', policy: { PLACEMENTS: 'control-plane' } })
  const { runtimes, problems } = read()
  expect(runtimes.map(({ policy: read }) => read)).toEqual([
    { PRIVILEGED_IMAGES: ['registry.b.example/dind'], PLACEMENTS: [{ nodeSelector: { pool: 'builds' } }] },
  ])
  expect(problems).toEqual([
    { file: 'b.runtime.yaml', message: expect.stringContaining('PRIVILEGED') },
    { file: 'c.runtime.yaml', message: expect.stringMatching(/policy\.PLACEMENTS: must be a JSON list of placements/) },
  ])
})
