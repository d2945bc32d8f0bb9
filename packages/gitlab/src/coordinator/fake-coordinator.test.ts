import { expect, onTestFinished, test } from 'vitest'
import {
  startFakeCoordinator,
  type FakeCoordinator,
  type FakeCoordinatorOptions,
} from '../../../../e2e/gitlab/support/fake-coordinator.ts'

async function start(options: FakeCoordinatorOptions = {}): Promise<FakeCoordinator> {
  const fake = await startFakeCoordinator(options)
  onTestFinished(() => fake.close())
  return fake
}

const headers = { 'job-token': 'glcbt-five' }

test('stores uploads of artifacts and serves them, directly or with a redirect', async () => {
  const fake = await start()
  const job = fake.enqueue({ id: 5, token: 'glcbt-five' })
  const form = new FormData()
  form.append('file', new Blob([Buffer.from('PK\r\n--content')]), 'default.zip')
  const url = `${fake.url}/api/v4/jobs/5/artifacts`
  const upload = await fetch(`${url}?artifact_type=archive&expire_in=1%20day`, { method: 'POST', headers, body: form })
  expect(upload.status).toBe(201)
  expect(job.uploads).toEqual([
    { fileName: 'default.zip', bytes: Buffer.from('PK\r\n--content'), query: { artifact_type: 'archive', expire_in: '1 day' } },
  ])
  expect(await (await fetch(url, { headers })).text()).toBe('PK\r\n--content')
  const redirect = await fetch(`${url}?direct_download=true`, { headers, redirect: 'manual' })
  expect(redirect.status).toBe(302)
  expect(await (await fetch(redirect.headers.get('location') ?? '')).text()).toBe('PK\r\n--content')
  expect((await fetch(url, { method: 'POST', headers, body: 'no form' })).status).toBe(400)
  expect(job.violations).toHaveLength(1)
  expect((await fetch(url)).status).toBe(403)
})

test('records a second, different final state and a patch that does not fit its range as violations', async () => {
  const fake = await start()
  const job = fake.enqueue({ id: 5, token: 'glcbt-five' })
  const put = (state: string): Promise<Response> =>
    fetch(`${fake.url}/api/v4/jobs/5`, {
      method: 'PUT',
      headers,
      body: JSON.stringify({ state, output: { checksum: 'crc32:00000000', bytesize: 0 } }),
    })
  const patch = { method: 'PATCH', headers: { ...headers, 'content-range': '0-9', 'content-type': 'text/plain' }, body: 'abc' }
  await fetch(`${fake.url}/api/v4/jobs/5/trace`, patch)
  expect((await put('success')).status).toBe(412)
  expect((await put('success')).status).toBe(200)
  expect((await put('failed')).status).toBe(403)
  expect(job.violations).toEqual(['a patch of 3 bytes has the range 0-9', 'the state changed from success to failed'])
})

test('has the same address after it was down', async () => {
  const fake = await start({ path: '/gitlab' })
  const url = `${fake.url}/api/v4/runners/verify`
  const verify = async (): Promise<number> => (await fetch(url, { method: 'POST', headers: { 'runner-token': 'glrt-x' } })).status
  expect(await verify()).toBe(200)
  await fake.down()
  await expect(verify()).rejects.toThrow()
  await fake.up()
  fake.failNext(1, 502)
  expect(await verify()).toBe(502)
  expect(await verify()).toBe(200)
})
