/** The demo pipeline, which tests a Runner. */
import type { ApiClient } from '@windlass/client'
import { followToEnd } from '../commands/builds/follow-to-end.ts'
import type { Printer } from '../printer.ts'

export const DEMO_PIPELINE = 'Runner/CF_Runner_Demo'
const DEMO_IMAGE = 'alpine:3'

/** Creates or replaces it: a step that prints a greeting, with an image from the registry of the installation. */
export async function putDemo(
  client: ApiClient,
  { runtime, registry, image }: { runtime: string; registry: string | undefined; image: string | undefined },
): Promise<string> {
  const named = image ?? (registry === undefined ? DEMO_IMAGE : `${registry.replace(/\/+$/, '')}/${DEMO_IMAGE}`)
  const step = { title: 'Say hello', stage: 'test', image: named, commands: ['echo "hello from your Runner"'] }
  const document = JSON.stringify({ version: '1.0', stages: ['test'], steps: { hello: step } }, null, 2)
  await client.pipelines.put(DEMO_PIPELINE, { name: DEMO_PIPELINE, document, runtime })
  return DEMO_PIPELINE
}

/** Returns the registry with the images of an installation, from its engine image; undefined if that names none. Pure. */
export function registryOf(engineImage: string): string | undefined {
  return /^(.+)\/windlass\/windlass(?:[:@].*)?$/.exec(engineImage)?.[1]
}

/** Runs it on a runtime and follows it. Resolves to the exit code of the build. */
export async function runDemo(client: ApiClient, runtime: string, out: Printer): Promise<number> {
  const build = await client.builds.create({ pipeline: DEMO_PIPELINE, runtime })
  out.note(`Running ${DEMO_PIPELINE} on the runtime environment ${runtime}`)
  return followToEnd({ client, build, out, mayTerminate: true })
}
