/** Environments, products and releases on the command line, against a real server. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errandCalls } from '@windlass/client/app-proxy'
import { expect, onTestFinished, test } from 'vitest'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { openProduct } from '../../../server/test/support/product.ts'
import { windlass } from '../windlass.ts'

const COMMIT = 'c'.repeat(40)

/** Replaces what differs between two runs. */
function fixed(text: string): string {
  return text
    .replaceAll(/\b[0-9a-f]{24}\b/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*/g, 'TIME')
    .replaceAll(/\b\d+(?:s|m|h|d|y)\b/g, 'AGE')
    .replaceAll(/ {2,}/g, '  ')
    .replaceAll(/ +$/gm, '')
}

function write(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-products-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'product.yaml')
  writeFileSync(path, text)
  return path
}

const DOCUMENTS = `kind: environment
metadata: { name: qa }
spec: { position: 2, clusters: [{ namespaces: [qa] }] }
---
apiVersion: codefresh.io/v1beta1
kind: PromotionFlow
metadata: { name: main }
spec:
  triggerEnvironment: staging
  steps: [{ environment: production }]
---
apiVersion: codefresh.io/v1beta1
kind: PromotionPolicy
metadata: { name: prod }
spec:
  priority: 10
  selector: { targetEnvironment: { types: [PROD] } }
  policy: { action: commit }
---
apiVersion: codefresh.io/v1beta1
kind: PromotionTemplate
metadata: { name: values }
spec:
  priority: 1
  applicationSourceSelector: { matchLabels: { type: values } }
  versionSource: { file: values.yaml, jsonPath: $.tag }
  promotion: { values.yaml: { jsonPaths: [$.tag] } }
---
apiVersion: codefresh.io/v1beta2
kind: Product
metadata: { name: shop }
spec:
  promotionFlows: [{ name: main }]
  promotionTemplateRef: values
`

test('documents of both forms are applied, and what is where and what a release waits for are shown (O064)', async () => {
  await using scene = await openHttpScene()
  const { token, report } = await openProduct(scene)
  const run = async (line: string): Promise<{ code: number; text: string }> => {
    const { code, text } = await windlass(scene, line.split(' '))
    return { code, text: fixed(text) }
  }
  const file = write(DOCUMENTS)
  expect(await run(`apply -f ${file}`)).toMatchInlineSnapshot(`
    {
      "code": 0,
      "text": "environment/qa created
    promotion-flow/main created
    promotion-policy/prod created
    promotion-template/values created
    product/shop configured
    ",
    }
  `)
  expect((await run(`apply -f ${file}`)).text).toContain('product/shop configured')
  expect((await run('get environments')).text).toMatchInlineSnapshot(`
    "NAME  KIND  APPLICATIONS  HEALTHY  PLACES  AGE
    staging  NON_PROD  1  1  in-cluster/staging  AGE
    production  PROD  1  1  in-cluster/production  AGE
    qa  NON_PROD  0  0  in-cluster/qa  AGE
    "
  `)
  expect((await run('get products')).text).toMatchInlineSnapshot(`
    "NAME  VERSIONS  HEALTH  RELEASE  AGE
    shop  staging=1,production=1  staging=healthy,production=healthy  AGE
    "
  `)
  expect((await run('get promotion-flows')).text).toMatchInlineSnapshot(`
    "NAME  FROM  STEPS  AGE
    main  staging  production  AGE
    "
  `)
  expect((await run('get promotion-policy')).text).toMatchInlineSnapshot(`
    "NAME  PRIORITY  PRODUCTS  ENVIRONMENTS  ACTION  AGE
    prod  10  all  PROD  commit  AGE
    "
  `)
  expect((await run('get promotion-templates')).text).toMatchInlineSnapshot(`
    "NAME  PRIORITY  VERSION  FILES  AGE
    values  1  values.yaml $.tag  values.yaml  AGE
    "
  `)
  expect((await run('describe product shop')).text).toMatchInlineSnapshot(`
    "Product:  shop
    Flows:  main
    Concurrency:  queue

    ENVIRONMENT  KIND  APPLICATION  VERSION  HEALTH  SYNC  REVISION  SINCE  WHY
    staging  NON_PROD  prod/argocd/shop-staging  1  healthy  synced  0123456789ab  AGE
    production  PROD  prod/argocd/shop-production  1  healthy  synced  0123456789ab  AGE
    "
  `)
  const promoted = await run('gitops promote shop')
  expect(promoted).toMatchInlineSnapshot(`
    {
      "code": 0,
      "text": "release/ID started
    Release 1 of shop: windlass describe release ID
    ",
    }
  `)
  const id = (await scene.admin.releases.list()).items[0]?.id ?? ''
  const app = errandCalls(scene.nobody.withToken(token))
  const { errands } = await app.claim({ room: 1, waitMs: 20_000 })
  await app.report(errands[0]?.id ?? '', { result: { kind: 'promote', revision: COMMIT, isNew: true, version: '1.4.0' } })
  await expect.poll(() => scene.admin.releases.get(id)).toMatchObject({ why: expect.stringContaining('Argo CD') })
  expect((await run(`describe release ${id}`)).text).toMatchInlineSnapshot(`
    "Release:  1 of shop
    Id:  ID
    Status:  running
    Why:  Waits for Argo CD to see the commit cccccccccccc in "prod/argocd/shop-production".
    Version:  1.4.0
    Flow:  main
    From:  staging
    Started by:  admin
    Created:  TIME

    production (PROD): running - Waits for Argo CD to see the commit cccccccccccc in "prod/argocd/shop-production".
      APPLICATION  STATE  ACTION  CHANGE  BUILDS
      prod/argocd/shop-production  syncing  commit  cccccccccccc
    "
  `)
  await report('production', { status: { sync: { status: 'Synced', revision: COMMIT } } })
  await expect.poll(() => scene.admin.releases.get(id)).toMatchObject({ status: 'succeeded' })
  expect((await run('get releases --product shop')).text).toMatchInlineSnapshot(`
    "ID  PRODUCT  NUMBER  VERSION  STATUS  STEPS  BY  AGE  WHY
    ID  shop  1  1.4.0  succeeded  production=succeeded  admin  AGE
    "
  `)
  expect(await run('delete product shop')).toMatchObject({ code: 0, text: 'product/shop deleted\n' })
})

test('wrong documents and wrong commands say what is wrong, with the exit codes of scripts', async () => {
  await using scene = await openHttpScene()
  await openProduct(scene)
  const run = (line: string): ReturnType<typeof windlass> => windlass(scene, line.split(' '))
  const wrong = write('kind: product\nmetadata: { name: shop }\nspec: { promotionFlow: main }\n')
  expect(await run(`apply -f ${wrong}`)).toMatchObject({ code: 1, text: expect.stringContaining('promotionFlow') })
  expect(await run('gitops promote shop')).toMatchObject({ code: 2, text: expect.stringContaining('has no promotion flow') })
  expect(await run('gitops promote shop --from staging')).toMatchObject({ code: 2 })
  expect(await run('gitops promote absent --from staging --to production')).toMatchObject({ code: 3 })
  expect(await run('describe release 65f0c1d2a3b4c5d6e7f80912')).toMatchObject({ code: 3 })
  expect(await run('delete environment staging')).toMatchObject({ code: 0 })
  const started = await run('gitops promote shop --from production --to staging')
  expect(started).toMatchObject({ code: 3, text: expect.stringContaining('environment "staging" does not exist') })
})

test('a command that waits ends with the result of the release', async () => {
  await using scene = await openHttpScene()
  const { token } = await openProduct(scene)
  const waiting = windlass(scene, 'gitops promote shop --from staging --to production --wait'.split(' '))
  const app = errandCalls(scene.nobody.withToken(token))
  const { errands } = await app.claim({ room: 1, waitMs: 20_000 })
  const failed = { kind: 'failed', code: 'git-refused', message: 'The branch is protected.', mayRetry: false } as const
  await app.report(errands[0]?.id ?? '', { result: failed })
  expect(await waiting).toMatchObject({ code: 1, text: expect.stringContaining('failed: production: The branch is protected.') })
  const id = (await scene.admin.releases.list()).items[0]?.id ?? ''
  const retried = windlass(scene, ['gitops', 'release', 'retry', id, '--wait'])
  await expect.poll(async () => (await scene.admin.releases.get(id)).status).toBe('running')
  expect(await windlass(scene, ['gitops', 'release', 'terminate', id])).toMatchObject({ code: 0 })
  expect(await retried).toMatchObject({ code: 2, text: expect.stringContaining('has terminated it') })
})
