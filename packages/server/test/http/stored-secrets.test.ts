/** Secrets in the database and the data folder without the master key. */
import { Pipeline, EngineDocumentAnswer } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openHttpScene } from '../support/http-scene.ts'
import { dumpFiles, dumpTables, formsOf, leaks, plantSecrets, SECRETS } from '../support/secrets-scene.ts'

test('no row and no file contains a secret in plain text or in any other encoding', async () => {
  await using scene = await openHttpScene()
  const planted = await plantSecrets(scene)
  expect(await planted.missing(scene)).toEqual([])
  const texts = { ...SECRETS, ...Object.fromEntries(planted.tokens.map((token, n) => [`token ${n}`, token])) }
  expect(leaks(await dumpTables(scene.server.app), texts)).toEqual([])
  const files = await dumpFiles(scene.dataDir)
  expect(files.map(({ place }) => place)).toContain('windlass.db')
  expect(leaks(files, texts)).toEqual([])
  for (const { text } of files) expect(text).not.toContain('PRIVATE KEY')
})

test('finds each encoding of a secret in a dump', () => {
  for (const form of formsOf(SECRETS.run)) {
    const text = Buffer.from(form, 'latin1').toString()
    expect(leaks([{ place: 'here', text: `before ${text} after` }], { run: SECRETS.run })).toEqual(['run in here'])
  }
  const inside = Buffer.from(`xy${JSON.stringify({ a: SECRETS.run.replaceAll('\\', '').replaceAll('"', '') })}`)
  expect(leaks([{ place: 'here', text: inside.toString('base64') }], { run: SECRETS.run.replaceAll(/["\\]/g, '') })).toEqual([
    'run in here',
  ])
})

test('does not store encrypted variables of a fetched document in plain text', async () => {
  await using scene = await openHttpScene()
  const template = `{location: git, repo: team/app, path: ci/build.yml, context: work}`
  const document = `kind: pipeline\nmetadata: {name: demo/far}\nspec:\n  specTemplate: ${template}\n`
  await scene.admin.call('POST', '/v1/pipelines', Pipeline, { body: { name: 'demo/far', document } })
  const { engine } = await scene.start({ pipeline: 'demo/far', document: undefined, branch: 'main' })
  const value = JSON.stringify(SECRETS.document)
  const far = `kind: pipeline\nmetadata: {name: demo/far}\nspec:\n  variables:\n    - key: T\n      value: ${value}\n      encrypted: true\n  steps:\n    far:\n      image: alpine\n      commands: [echo]\n`
  const { plan } = await engine.client.call('POST', '/v1/engine/document', EngineDocumentAnswer, { body: { text: far } })
  expect(plan?.steps.map(({ name }) => name)).toEqual(['far'])
  expect(leaks(await dumpTables(scene.server.app), SECRETS)).toEqual([])
  expect(leaks(await dumpFiles(scene.dataDir), SECRETS)).toEqual([])
})
