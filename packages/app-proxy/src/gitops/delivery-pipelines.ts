/** Delivery pipelines as files in Git sources: an event source, a sensor and the template of its workflow are one commit of the caller, which Argo CD applies. */
import { FORGE_HOOKS } from '@windlass/forges'
import {
  DELIVERY_FORGES,
  deliveryFiles,
  deliveryHookPath,
  deliveryObjectsIn,
  deliveryPipelinesIn,
  isSameManifest,
  pathInRepository,
  type DeliveryForge,
  type RuntimePlace,
} from '@windlass/gitops'
import { fault, isFault } from '@windlass/kit'
import type {
  DeliveryPipeline,
  DeliveryPipelineChange,
  DeliveryPipelineList,
  ListedGitSource,
  NewDeliveryPipeline,
} from '@windlass/protocol'
import type { Applications } from '../argo/applications.ts'
import { noteDryRun, noteSubject } from '../audit/call.ts'
import { listHooks } from '../forge/list-hooks.ts'
import type { ControlPlane } from './control-plane.ts'
import { openSource, readSource, type OpenSource } from './find-application.ts'
import type { GitSources } from './git-sources.ts'
import type { HookOwner, HookSecret, HookSecrets } from './hook-secrets.ts'
import { requireFile, requireOnly, requireSource } from './locate-application.ts'
import type { Changed, Files, Plan, RepositoryBranches } from './repository-branch.ts'
import type { RepositoryView } from './repository-view.ts'
import type { GitopsCall, UserRepositories, UserRepository } from './user-repositories.ts'

/** Triggers that a list has. */
const MAX_LISTED = 5_000

export interface DeliveryPipelines {
  /** Lists the triggers of all sensors in the Git sources of the runtime. A Git source or a file that is not read is named. */
  list(call: GitopsCall): Promise<DeliveryPipelineList>
  /**
   * Commits a new pipeline, and creates the webhook that calls its event source. The same one again makes no commit. Throws `not-supported` for forges whose calls an event source cannot check, `conflict`
   * if a name or a file is in use, and what `RepositoryBranch.change` throws.
   */
  create(call: GitopsCall, input: NewDeliveryPipeline): Promise<DeliveryPipelineChange>
}

export interface DeliveryPipelinesOptions {
  readonly gitSources: GitSources
  readonly branches: RepositoryBranches
  readonly repositories: UserRepositories
  readonly controlPlane: Pick<ControlPlane, 'runtime'>
  readonly secrets: HookSecrets
  readonly applications: Pick<Applications, 'askRefresh'>
  readonly place: RuntimePlace
}

export function openDeliveryPipelines(options: DeliveryPipelinesOptions): DeliveryPipelines {
  const { gitSources, branches, repositories, controlPlane, secrets, applications, place } = options

  /** Returns the URL of the event source for the forge. Throws `not-supported` if nothing leads to the runtime. */
  async function hookUrlOf({ key }: GitopsCall, name: string): Promise<string> {
    const { url } = await controlPlane.runtime(key, place.runtime)
    if (url !== undefined) return url.replace(/\/+$/, '') + deliveryHookPath({ name, namespace: place.namespace })
    throw fault('not-supported', {
      message: `The server knows no URL of the GitOps runtime "${place.runtime}", so no forge can call its event sources.`,
      hint: 'Connect its tunnel, or create the pipeline without a webhook.',
    })
  }

  /** Makes the Secret of the webhook, which the cluster needs before the files, and the commit. Without the commit nothing is left. */
  async function changeWithSecret(
    { confirm }: GitopsCall,
    owner: HookOwner,
    { branch }: OpenSource,
    plan: (view: RepositoryView) => Promise<Plan<undefined>>,
  ): Promise<{ readonly changed: Changed<undefined>; readonly secret: HookSecret }> {
    branch.requirePush()
    await plan(await branch.view())
    await confirm()
    const secret = await secrets.ensure(owner)
    try {
      return { changed: await branch.change(plan), secret }
    } catch (error) {
      if (secret.isNew) await secrets.remove(owner.name)
      throw error
    }
  }

  /** The commit is made, so a cluster that does not answer fails no call: Argo CD finds the commit later. */
  async function refresh(source: string, { commit }: Changed<undefined>): Promise<boolean> {
    if (!commit.isNew) return false
    return applications.askRefresh(source).catch((error: unknown) => {
      if (isFault(error)) return false
      throw error
    })
  }

  return {
    async list(call) {
      const items: DeliveryPipeline[] = []
      const unread: string[] = []
      for (const source of (await gitSources.list(call)).filter(({ type }) => type === 'standard'))
        try {
          await addPipelines(await openSource(branches, call, source), { items, unread })
        } catch (error) {
          if (!isFault(error)) throw error
          unread.push(`The Git source "${source.name}" could not be read: ${error.message}`)
        }
      return { items: items.toSorted((a, b) => (a.name < b.name ? -1 : 1)), unread }
    },
    async create(call, input) {
      const { name, dryRun } = input
      if (place.isHosted === true)
        throw fault('not-supported', {
          message: 'A hosted GitOps runtime applies only applications, so it cannot have delivery pipelines.',
          hint: 'Use a runtime in a cluster of your own.',
        })
      const source = await chooseSource(gitSources, call, input)
      const watched = await repositories.get(call, input.repository)
      const files = render(input, { watched, place, source })
      const open = await openSource(branches, call, source)
      const url = input.webhook && !dryRun ? await hookUrlOf(call, name) : undefined
      noteSubject(`delivery pipeline ${name} in the Git source ${source.name}`)
      const plan = async (view: RepositoryView): Promise<Plan<undefined>> => ({
        message: input.message ?? `Create the delivery pipeline ${name}`,
        files: await newFiles(view, open, files),
        result: undefined,
      })
      if (dryRun) {
        noteDryRun()
        await plan(await open.branch.view())
        return toChange(open, { name, files })
      }
      if (url === undefined) {
        const changed = await open.branch.change(plan)
        return { ...toChange(open, { name, files, changed }), isRefreshed: await refresh(source.name, changed) }
      }
      const owner = { name, gitSource: source.name, repository: addressOf(watched) }
      const { changed, secret } = await changeWithSecret(call, owner, open, plan)
      const isRefreshed = await refresh(source.name, changed)
      const webhook = await putHook(watched, { url, secret, note: () => secrets.noteWebhook(name, url) })
      return { ...toChange(open, { name, files, changed }), isRefreshed, webhook }
    },
  }
}

/** Adds the triggers of a Git source to a list. Throws `file-too-large` for too many. */
async function addPipelines(open: OpenSource, { items, unread }: DeliveryPipelineList): Promise<void> {
  const { source, branch } = open
  for await (const { file, text } of readSource(await branch.view(), open)) {
    const path = pathInRepository(source, file)
    if (text === undefined)
      unread.push(`The file ${path} of the Git source "${source.name}" was not read: it has more than 64 KiB.`)
    else for (const found of deliveryPipelinesIn(text)) items.push({ ...found, gitSource: source.name, file: path })
    if (items.length > MAX_LISTED) throw fault('file-too-large', { message: `A list has at most ${MAX_LISTED} triggers.` })
  }
}

/** Throws `request-invalid` for a Git source that applies applications only, and what the choice throws. */
async function chooseSource(
  gitSources: GitSources,
  call: GitopsCall,
  { gitSource }: NewDeliveryPipeline,
): Promise<ListedGitSource> {
  const all = await gitSources.list(call)
  const source = gitSource === undefined ? requireOnly(all) : requireSource(all, gitSource)
  if (source.type === 'standard') return source
  throw fault('request-invalid', {
    message: `The restricted Git source "${source.name}" applies applications only.`,
    hint: 'Name a standard Git source.',
  })
}

interface Rendering {
  readonly watched: UserRepository
  readonly place: RuntimePlace
  readonly source: ListedGitSource
}

/** Returns the files by their paths in the Git source. */
function render(input: NewDeliveryPipeline, { watched, place, source }: Rendering): ReadonlyMap<string, string> {
  const { name, repository, branch, events, run, workflowTemplate = '', serviceAccount } = input
  const { session, facts } = watched
  const files = deliveryFiles({
    name,
    namespace: place.namespace,
    forge: requireForge(session.integration.provider),
    repo: facts.fullName,
    clone: repository,
    branch,
    events,
    run: run ?? { workflowTemplate },
    serviceAccount,
  })
  for (const file of files.keys()) requireFile(file, source)
  return files
}

/** Returns the URL that a repository has whichever way a caller has written it. */
function addressOf({ session, facts }: UserRepository): string {
  return `${session.integration.url.replace(/\/+$/, '')}/${facts.fullName}`
}

/** Throws `not-supported`. */
function requireForge(provider: string): DeliveryForge {
  const found = DELIVERY_FORGES.find((forge) => forge === provider)
  if (found !== undefined) return found
  throw fault('not-supported', {
    message: `Delivery pipelines can be created for ${DELIVERY_FORGES.join(' and ')}, and not for ${provider}.`,
    hint: 'Commit an event source and a sensor of your own to the Git source.',
  })
}

/** Returns the files that the Git source does not have yet. Throws `conflict` if another file has one of the objects, or a file has something else. */
async function newFiles(view: RepositoryView, open: OpenSource, files: ReadonlyMap<string, string>): Promise<Files> {
  const wanted = new Set([...files.values()].flatMap(deliveryObjectsIn))
  for await (const { file, text } of readSource(view, open)) {
    // Its own files are compared as a whole.
    if (text === undefined || files.has(file)) continue
    const taken = deliveryObjectsIn(text).find((object) => wanted.has(object))
    if (taken === undefined) continue
    throw fault('conflict', {
      message: `The file ${file} of the Git source "${open.source.name}" has the ${taken}.`,
      hint: 'Use another name for the pipeline.',
    })
  }
  const missing = new Map<string, string>()
  for (const [file, text] of files) {
    const before = await view.read(file)
    if (before === undefined) missing.set(file, text)
    else if (!isSameManifest(before, text))
      throw fault('conflict', {
        message: `The Git source "${open.source.name}" has the file ${file} with something else.`,
        hint: 'Change the file with git, or use another name for the pipeline.',
      })
  }
  return missing
}

interface NewHook {
  readonly url: string
  readonly secret: HookSecret
  /** Notes at the Secret that the webhook has its token. */
  readonly note: () => Promise<void>
}

/** Creates the webhook, or leaves the one that was made with the Secret. The commit is made, so a forge that refuses fails no call. */
async function putHook(
  { session, repo }: UserRepository,
  { url, secret: { token, webhook }, note }: NewHook,
): Promise<NonNullable<DeliveryPipelineChange['webhook']>> {
  const { provider } = session.integration
  const hooks = FORGE_HOOKS[provider]
  const hook = { url, secret: token, ...(provider === 'gitea' && { authorization: `Bearer ${token}` }) }
  try {
    const same = (await listHooks(session, repo)).filter((one) => one.url === url)
    if (same.length > 0 && webhook === url) return { url, state: 'existing' }
    // They may have a token that the event source does not know.
    for (const { id } of same) await session.change(hooks.remove(repo, id))
    await session.change(hooks.create(repo, hook))
    // Without the note a repeated call makes the webhook again.
    await note()
    return { url, state: 'created' }
  } catch (error) {
    if (!isFault(error)) throw error
    return { url, state: 'failed', problem: error.message }
  }
}

interface Made {
  readonly name: string
  readonly files: ReadonlyMap<string, string>
  readonly changed?: Changed<undefined>
}

function toChange({ source, branch }: OpenSource, { name, files, changed }: Made): DeliveryPipelineChange {
  const { clone, branch: ref } = branch.place
  return {
    name,
    gitSource: source.name,
    repository: clone,
    branch: ref,
    files: [...files].map(([file, text]) => ({ file: pathInRepository(source, file), text })),
    ...(changed !== undefined && { commit: changed.commit }),
    others: [...(changed?.others ?? [])],
    isRefreshed: false,
  }
}
