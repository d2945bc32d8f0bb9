/** Quotas of projects over HTTP: who sets them, who sees them, and what the reader of a deleted log is told. */
import { expect, test } from 'vitest'
import { retain } from '../../../src/retention.ts'
import { HELLO, openHttpScene } from '../../support/http-scene.ts'

test('an admin of the installation sets quotas, and users of the project see them', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await admin.projects.put('shop', { name: 'shop' })
  await admin.projects.put('other', { name: 'other' })
  const quotas = { concurrency: 2, logDays: 7 }
  expect(await admin.projects.putQuotas('shop', quotas)).toMatchObject({ name: 'shop', quotas })
  await admin.users.create({ name: 'lead', kind: 'service-account', role: 'none', projects: { shop: 'admin' } })
  const lead = scene.nobody.withToken((await admin.keys.create({ name: 'lead-key', role: 'admin', owner: 'lead' })).token)
  await expect(lead.projects.putQuotas('shop', {})).rejects.toMatchObject({ code: 'forbidden' })
  expect((await lead.projects.list()).items).toMatchObject([{ name: 'shop', quotas }])
  await lead.projects.put('shop', { name: 'shop', variables: { region: 'eu' } })
  expect(await admin.projects.get('shop')).toMatchObject({ variables: { region: 'eu' }, quotas })
  for (const wrong of [{ concurrency: -1 }, { buildDays: 0 }, { maxLogBytes: 1.5 }, { builds: 3 }])
    await expect(admin.projects.putQuotas('shop', wrong), JSON.stringify(wrong)).rejects.toMatchObject({
      code: 'request-invalid',
    })
  expect((await admin.projects.putQuotas('shop', {})).quotas).toEqual({})
})

test('the reader of a log that a quota deleted is told the quota', async () => {
  await using scene = await openHttpScene()
  const { admin, server } = scene
  await admin.pipelines.put('shop/app', { name: 'shop/app', document: HELLO })
  const { build, engine } = await scene.start({ pipeline: 'shop/app', document: undefined })
  await engine.log('step/hello', 'a line\n')
  await engine.finish({ status: 'success' })
  await admin.projects.putQuotas('shop', { maxLogBytes: 3 })
  await retain(server.app)
  expect(await admin.builds.get(build.id)).toMatchObject({ status: 'success' })
  const read = await fetch(`${server.url}/v1/builds/${build.id}/log/lines?stream=step%2Fhello&from=0&count=1`, {
    headers: { authorization: `Bearer ${scene.adminToken}` },
  })
  expect(await read.json()).toMatchObject({
    code: 'not-found',
    detail: 'The log has expired. The project "shop" keeps logs up to 3 bytes in total.',
  })
})
