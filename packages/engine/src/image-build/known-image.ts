/** Reuses an image of an earlier build with the same content instead of building it. */
import { isFault } from '@windlass/kit'
import type { ResolvedBuild } from '@windlass/plan'
import type { StepRun } from '../attempt/context.ts'
import { findRegistryOf, loginFor } from '../attempt/registries.ts'
import type { ContentSource } from './content.ts'

/** Returns the id of the image on the daemon, tagged for the step. Returns undefined if it is no longer available. */
export async function takeKnownImage(
  run: StepRun<ResolvedBuild>,
  { source, tags }: { readonly source: ContentSource; readonly tags: readonly string[] },
): Promise<string | undefined> {
  const { action, context, output } = run
  const name = 'imageId' in source ? source.imageId : await pull(run, source.reference)
  const image = name === undefined ? undefined : await context.docker.inspectImage(name)
  if (image === undefined) return undefined
  await output.say(
    `The build is skipped: an image with the same content exists already (${'imageId' in source ? image.id.replace(/^sha256:/, '').slice(0, 12) : source.reference}). \`no_cf_cache: true\` builds it anyway.`,
  )
  for (const tag of tags) await context.docker.tagImage(image.id, { repository: action.imageName, tag })
  return image.id
}

async function pull({ context, output, signal }: StepRun, reference: string): Promise<string | undefined> {
  try {
    await context.docker.pullImage(reference, {
      login: loginFor(reference, findRegistryOf(reference, context.input.registries)),
      signal,
    })
    return reference
  } catch (error) {
    if (!isFault(error, 'docker-refused')) throw error
    await output.say(`An image with the same content was built before, but ${reference} cannot be pulled. Building it again.`)
    return undefined
  }
}
