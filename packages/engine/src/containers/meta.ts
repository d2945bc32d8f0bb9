/**
 * The `/meta` folder of a typed step: a volume that only its parts share. What they write to `env_vars_to_export` in it becomes their outputs, which
 * are visible only inside the typed step until it ends.
 */
import { buffer } from 'node:stream/consumers'
import { extract } from 'tar-stream'
import type { AttemptContext } from '../attempt/context.ts'
import type { ContainerMount } from '../docker/containers.ts'
import { MAX_EXPORT_FILE_BYTES, parseExports } from './exports.ts'
import { attemptLabels } from '../attempt/labels.ts'

const META_PATH = '/meta'
const META_FILE = `${META_PATH}/env_vars_to_export`

/** Returns the mount of `/meta` for the containers of a step, or undefined if the step is not part of a typed step. */
export async function metaMount(context: AttemptContext, step: string): Promise<ContainerMount | undefined> {
  const typed = typedAround(context, step)
  if (typed === undefined) return undefined
  const { docker, input } = context
  const source = `windlass-meta-${input.buildId}-${typed}`
  await docker.createVolume(source, attemptLabels(input))
  return { type: 'volume', source, target: META_PATH, readOnly: false }
}

/**
 * Returns the number of the innermost typed step around `step`. It names the volume, because step names may contain characters that volume names may
 * not.
 */
function typedAround({ input }: AttemptContext, step: string): number | undefined {
  const { steps } = input.plan
  const places = new Map(steps.map(({ name }, index) => [name, index]))
  let place = places.get(step)
  while (place !== undefined) {
    const { parent, hook } = steps[place] ?? {}
    place = places.get(parent ?? hook?.of ?? '')
    const action = place === undefined ? undefined : steps[place]?.action
    if (action?.kind === 'group' && action.typed !== undefined) return place
  }
  return undefined
}

export interface MetaOutputs {
  readonly outputs: Readonly<Record<string, string>>
  /** Names written with `--mask`. */
  readonly secret: readonly string[]
  readonly problems: readonly string[]
}

/** Returns what the parts of the typed step have written so far, from a stopped container with `/meta`. */
export async function readOutputs({ docker }: AttemptContext, id: string): Promise<MetaOutputs> {
  const stat = await docker.statFile(id, META_FILE)
  if (stat === undefined || stat.size === 0) return { outputs: {}, secret: [], problems: [] }
  if (stat.size > MAX_EXPORT_FILE_BYTES)
    return {
      outputs: {},
      secret: [],
      problems: [`${META_FILE} has ${stat.size} bytes; at most ${MAX_EXPORT_FILE_BYTES} are read.`],
    }
  const found = await docker.getArchive(id, META_FILE)
  if (found === undefined) return { outputs: {}, secret: [], problems: [] }
  const files = extract()
  found.pipe(files)
  let text = ''
  for await (const entry of files) {
    const bytes = await buffer(entry)
    if (entry.header.type === 'file') text += bytes.toString('utf8')
  }
  const { variables, problems } = parseExports(text)
  return {
    outputs: Object.fromEntries(variables.map(({ name, value }) => [name, value])),
    secret: variables.filter(({ secret }) => secret).map(({ name }) => name),
    problems,
  }
}
