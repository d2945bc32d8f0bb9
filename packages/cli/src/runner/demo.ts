/** The pipeline that shows whether a Runner works. */
import type { Client } from '@windlass/protocol'
import { createBuild, putOne } from '../api.ts'
import { followToEnd } from '../actions/follow-to-end.ts'
import type { Printer } from '../printer.ts'
import { withKind } from '../resources/kinds.ts'

export const DEMO_PIPELINE = 'Runner/CF_Runner_Demo'
const DEMO_IMAGE = 'alpine:3'

/** Makes or replaces it: one step that says hello, from the registry of the installation. */
export async function putDemo(
  client: Client,
  { runtime, registry, image }: { runtime: string; registry: string | undefined; image: string | undefined },
): Promise<string> {
  const named = image ?? (registry === undefined ? DEMO_IMAGE : `${registry.replace(/\/+$/, '')}/${DEMO_IMAGE}`)
  const step = { title: 'Say hello', stage: 'test', image: named, commands: ['echo "hello from your Runner"'] }
  const document = JSON.stringify({ version: '1.0', stages: ['test'], steps: { hello: step } }, null, 2)
  await withKind('pipelines', async (kind) => {
    await putOne(client, kind, { name: DEMO_PIPELINE, body: { name: DEMO_PIPELINE, document, runtime } })
  })
  return DEMO_PIPELINE
}

/** Runs it on a runtime and follows it. Resolves to the exit code of the build. */
export async function runDemo(client: Client, runtime: string, out: Printer): Promise<number> {
  const build = await createBuild(client, {
    pipeline: DEMO_PIPELINE,
    runtime,
    secrets: {},
    contexts: [],
    noCache: false,
    resetVolume: false,
    noCfCache: false,
    enableNotifications: false,
    variables: {},
  })
  return followToEnd({ client, build, out, mayTerminate: true })
}
