/** Artifacts between a project and a fake GitLab. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock, type Clock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { startFakeCoordinator } from '../../../../e2e/gitlab/support/fake-coordinator.ts'
import { artifactsAddress, type ArtifactsCall } from './address.ts'
import { downloadArtifacts } from './download.ts'
import { uploadArtifacts, type UploadOptions } from './upload.ts'

const TOKEN = 'glcbt-five'

async function openScene() {
  const fake = await startFakeCoordinator({})
  const job = fake.enqueue({ id: 5, token: TOKEN })
  const folder = mkdtempSync(join(tmpdir(), 'windlass-artifacts-'))
  onTestFinished(async () => {
    await fake.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const lines: string[] = []
  const clock: Clock = { ...systemClock, sleep: () => Promise.resolve() }
  const call: ArtifactsCall = {
    url: fake.url,
    jobId: '5',
    token: TOKEN,
    folder,
    env: {},
    clock,
    say: (line) => void lines.push(line),
  }
  const upload = (more: Partial<UploadOptions>): Promise<void> =>
    uploadArtifacts({
      ...call,
      paths: ['dist'],
      exclude: [],
      untracked: false,
      name: '',
      expireIn: '',
      format: '',
      type: '',
      timeoutMs: 60_000,
      ...more,
    })
  mkdirSync(join(folder, 'dist'))
  return { fake, job, folder, lines, call, upload }
}

test.each([
  ['https://gitlab.test', '5', 'https://gitlab.test/api/v4/jobs/5/artifacts'],
  ['https://gitlab.test/git/', '5', 'https://gitlab.test/git/api/v4/jobs/5/artifacts'],
  ['https://gitlab.test', '../runners', 'https://gitlab.test/api/v4/jobs/..%2Frunners/artifacts'],
])('the artifacts at %s of the job %s have the address %s', (url, jobId, expected) => {
  expect(artifactsAddress({ url, jobId }).href).toBe(expected)
})

test('an address with a login or of another protocol is refused', () => {
  expect(() => artifactsAddress({ url: 'https://user:password@gitlab.test', jobId: '5' })).toThrow('not a plain HTTP')
  expect(() => artifactsAddress({ url: 'file:///etc', jobId: '5' })).toThrow('not a plain HTTP')
})

test('files that are uploaded are the same after a download, whatever their names and sizes', async () => {
  const { folder, call, upload, job } = await openScene()
  const files = new Map([
    ['empty', Buffer.alloc(0)],
    ['two words "quoted"\n', Buffer.from('x')],
    ['large', Buffer.alloc(2_000_000, 'abc')],
  ])
  for (const [name, content] of files) writeFileSync(join(folder, 'dist', name), content)
  await upload({ name: 'of "5"\r\nX: y', expireIn: '1 week' })
  expect(job.uploads).toMatchObject([{ fileName: 'of _5___X: y.zip', query: { expire_in: '1 week' } }])
  rmSync(join(folder, 'dist'), { recursive: true })
  await downloadArtifacts(call)
  for (const [name, content] of files) expect(readFileSync(join(folder, 'dist', name)).equals(content)).toBe(true)
})

test('a download that is refused is not tried again, and a failure of the server is', async () => {
  const { fake, call, upload, folder, lines } = await openScene()
  writeFileSync(join(folder, 'dist', 'a'), 'a')
  await upload({})
  await expect(downloadArtifacts({ ...call, token: 'wrong' })).rejects.toMatchObject({ status: 403 })
  expect(lines.join('\n')).not.toContain('trying again')
  fake.failNext(1, 502)
  await downloadArtifacts(call)
  expect(lines.filter((line) => line.includes('trying again'))).toHaveLength(1)
})

test('a server that has too much to do is given the time that it asks for, and an answer that is final is not repeated', async () => {
  const { fake, call, upload, folder, job } = await openScene()
  writeFileSync(join(folder, 'dist', 'a'), 'a')
  const slept: number[] = []
  const clock: Clock = { ...systemClock, sleep: async (ms) => void slept.push(ms) }
  fake.failNext(2, 429, { 'retry-after': '30' })
  await upload({ clock })
  expect([slept.splice(0), job.uploads.length]).toEqual([[30_000, 30_000], 1])
  fake.failNext(5, 429)
  await downloadArtifacts({ ...call, clock })
  expect(slept.splice(0)).toEqual([1_000, 2_000, 3_000, 4_000, 5_000])
  fake.failNext(6, 429)
  await expect(upload({ clock })).rejects.toMatchObject({ status: 429 })
  fake.failNext(0)
  fake.failNext(1, 413)
  slept.length = 0
  await expect(upload({ clock })).rejects.toMatchObject({ status: 413 })
  expect(slept).toEqual([])
})

test('a server that does not answer is tried again for ten minutes', async () => {
  const { fake, call, upload, folder, lines } = await openScene()
  writeFileSync(join(folder, 'dist', 'a'), 'a')
  await fake.close()
  let now = 0
  const clock: Clock = { ...systemClock, monotonic: () => now, sleep: async (ms) => void (now += ms) }
  for (const work of [() => upload({ clock }), () => downloadArtifacts({ ...call, clock })]) {
    now = 0
    lines.length = 0
    await expect(work()).rejects.toThrow('ECONNREFUSED')
    expect(now).toBeGreaterThanOrEqual(600_000)
    expect(lines.filter((line) => line.includes('trying again')).length).toBeGreaterThan(40)
  }
})

test('a raw artifact is one file, and a format that is not known is refused', async () => {
  const { upload, folder, job, lines } = await openScene()
  writeFileSync(join(folder, 'dist', 'junit.xml'), '<a/>')
  await upload({ paths: ['dist/junit.xml'], format: 'raw', type: 'junit' })
  expect(job.uploads.at(-1)).toMatchObject({ fileName: 'junit.xml', bytes: Buffer.from('<a/>') })
  await expect(upload({ format: 'raw' })).rejects.toThrow('an artifact of the format raw has one file, and 2 match')
  await expect(upload({ format: 'tarzstd' })).rejects.toThrow('zip, gzip and raw are')
  await upload({ paths: ['none'] })
  expect(lines.at(-1)).toBe('ERROR: No files to upload')
})
