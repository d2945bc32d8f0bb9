/** Fields that change the shared configuration repository: Git sources, managed clusters, the files of the runtime. */
import { field, refuseArguments, type Fields } from '@windlass/graphql'
import { defined, fault } from '@windlass/kit'
import { GitSourceChange, ListedGitSource, ManagedCluster, SharedConfigurationRemoval } from '@windlass/protocol'
import { z } from 'zod'
import type { RuntimeCall } from './runtime-call.ts'

/** How public clients name the cluster of the runtime. */
const OWN_CLUSTERS: ReadonlySet<string> = new Set(['https://kubernetes.default.svc', 'in-cluster'])
const Text = z
  .string()
  .nullish()
  .transform((text) => (text === null || text === '' ? undefined : text))
const Flag = z.boolean().nullish()

/** Reads `NAME=VALUE,NAME=VALUE`. The route checks the names and values. */
function toLabels(text: string | undefined): Record<string, string> | undefined {
  if (text === undefined) return undefined
  const pairs = text.split(',').map((pair): [string, string] => {
    const at = pair.indexOf('=')
    if (at > 0) return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()]
    throw fault('request-invalid', { message: 'labels: must have the form NAME=VALUE,NAME=VALUE.' })
  })
  return Object.fromEntries(pairs)
}

/** Throws `not-found`. */
async function findSource({ callRoute }: RuntimeCall, name: string): Promise<ListedGitSource> {
  const { items } = await callRoute('GET /git-sources', { answer: z.object({ items: z.array(ListedGitSource) }) })
  const found = items.find((source) => source.name === name)
  if (found !== undefined) return found
  throw fault('not-found', { message: `The Git source "${name}" does not exist.` })
}

export const gitSourceMutations: Fields<RuntimeCall> = {
  createGitSource: field(
    z.object({
      args: z.object({
        appName: z.string(),
        appSpecifier: z.string(),
        destServer: z.string(),
        destNamespace: Text,
        labels: Text,
        include: Text,
        exclude: Text,
        isInternal: Flag,
        createRepo: Flag,
      }),
    }),
    async ({ args }, { callRoute, namespace }: RuntimeCall) => {
      refuseArguments({ isInternal: args.isInternal }, 'a Git source is not a part of the runtime')
      refuseArguments({ createRepo: args.createRepo }, 'repositories are created at the forge')
      if (!OWN_CLUSTERS.has(args.destServer) || (args.destNamespace ?? namespace) !== namespace)
        throw fault('request-invalid', {
          message: `A Git source applies its files to the namespace "${namespace}" of the cluster of its runtime, and to no other place.`,
          hint: 'Its applications may deploy anywhere.',
        })
      const body = {
        name: args.appName,
        type: 'standard',
        repository: args.appSpecifier,
        ...defined({ labels: toLabels(args.labels), include: args.include, exclude: args.exclude }),
      }
      await callRoute('POST /git-sources', { body, answer: GitSourceChange })
      return null
    },
  ),
  editGitSource: field(
    z.object({ args: z.object({ appName: z.string(), appSpecifier: z.string(), include: Text, exclude: Text }) }),
    async ({ args: { appName: name, appSpecifier: repository, include, exclude } }, call: RuntimeCall) => {
      const { name: _name, file: _file, ...before } = await findSource(call, name)
      const body = { ...before, repository, ...defined({ include, exclude }) }
      await call.callRoute('PUT /git-sources/{name}', { params: { name }, body, answer: GitSourceChange })
      return null
    },
  ),
  deleteApplication: field(
    z.object({ args: z.object({ appName: z.string() }) }),
    async ({ args: { appName: name } }, { callRoute }: RuntimeCall) => {
      await callRoute('DELETE /git-sources/{name}', { params: { name }, answer: z.unknown() })
      return null
    },
  ),
  removeCluster: field(z.object({ server: z.string(), runtime: z.string() }), async ({ server, runtime }, call: RuntimeCall) => {
    if (runtime !== call.runtime)
      throw fault('request-invalid', { message: `This is the GitOps runtime "${call.runtime}", and not "${runtime}".` })
    const { items } = await call.callRoute('GET /clusters', { answer: z.object({ items: z.array(ManagedCluster) }) })
    const found = items.find((cluster) => cluster.server === server)
    if (found === undefined)
      throw fault('not-found', { message: `The GitOps runtime "${runtime}" does not manage a cluster at ${server}.` })
    await call.callRoute('DELETE /clusters/{name}', { params: { name: found.name }, answer: z.unknown() })
    return null
  }),
  removeRuntimeFromIscRepo: field(z.object({}), async (_, { callRoute }: RuntimeCall) => {
    const { applications } = await callRoute('DELETE /shared-configuration', { answer: SharedConfigurationRemoval })
    return applications
  }),
}
