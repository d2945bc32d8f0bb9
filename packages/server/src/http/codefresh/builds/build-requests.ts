/** The body with which public clients start builds, and its conversion to a build request. */
import { defined, fault } from '@windlass/kit'
import { AnnotationName, AnnotationValue, BuildInput } from '@windlass/protocol'
import { z } from 'zod'
import { requireShape } from '../../route.ts'

const Value = z.union([z.string(), z.number(), z.boolean()]).transform(String)
const Variables = z.union([
  z.array(z.object({ key: z.string(), value: Value, encrypted: z.boolean().optional() })).max(10_000),
  // A file of variables is sent as a map.
  z.record(z.string(), Value),
])
const Steps = z.union([z.string(), z.array(z.string())]).optional()
const Flag = z.boolean().optional()

export const RunInput = z.object({
  options: z
    .object({ noCache: Flag, noCfCache: Flag, resetVolume: Flag, enableNotifications: Flag, skip: Steps, only: Steps })
    .optional(),
  userMachineConfig: z
    .object({
      cpu: z.string().optional(),
      memory: z.string().optional(),
      disk: z.string().optional(),
      runtimeName: z.string().optional(),
      packName: z.string().optional(),
    })
    .optional(),
  branch: z.string().optional(),
  sha: z.string().optional(),
  trigger: z.string().optional(),
  variables: Variables.optional(),
  annotations: z.record(AnnotationName, AnnotationValue).optional(),
  contexts: z.union([z.string(), z.array(z.string())]).optional(),
  userYamlDescriptor: z.string().optional(),
})
type RunInput = z.output<typeof RunInput>

/** Converts the body of a start. Throws `request-invalid` for values that builds do not accept. */
export function toBuildInput(pipeline: string | undefined, body: RunInput): z.output<typeof BuildInput> {
  const { options = {}, userMachineConfig: machine = {}, branch, sha, trigger, annotations = {}, userYamlDescriptor } = body
  const { noCache, noCfCache, resetVolume, enableNotifications, skip, only } = options
  const { packName, runtimeName, cpu, memory, disk } = machine
  if (packName !== undefined)
    throw fault('request-invalid', {
      message: `Windlass has no machine sizes such as "${packName}".`,
      hint: 'Use --cpu, --memory and --disk instead of --pack-name.',
    })
  return requireShape(BuildInput, {
    ...splitVariables(body.variables ?? []),
    contexts: [body.contexts ?? []].flat(),
    ...defined({ pipeline, branch, revision: sha, trigger, document: userYamlDescriptor, runtime: runtimeName }),
    ...defined({ noCache, noCfCache, resetVolume, enableNotifications }),
    ...(skip !== undefined && { skip: [skip].flat() }),
    ...(only !== undefined && { only: [only].flat() }),
    ...(Object.keys(annotations).length > 0 && { annotations }),
    ...([cpu, memory, disk].some((size) => size !== undefined) && { machine: defined({ cpu, memory, disk }) }),
  })
}

function splitVariables(written: NonNullable<RunInput['variables']>): Pick<BuildInput, 'variables' | 'secrets'> {
  const all = Array.isArray(written) ? written : Object.entries(written).map(([key, value]) => ({ key, value, encrypted: false }))
  const pick = (encrypted: boolean): Record<string, string> =>
    Object.fromEntries(all.filter((one) => (one.encrypted ?? false) === encrypted).map(({ key, value }) => [key, value]))
  return { variables: pick(false), secrets: pick(true) }
}
