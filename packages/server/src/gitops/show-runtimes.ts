/** GitOps runtimes as callers see them: what their installers said, and what the server knows by their reports. */
import { defined } from '@windlass/kit'
import { RuntimeError, RuntimeInstallation, type GitopsRuntime, type Tunnel } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { noteSubject } from '../audit/call.ts'
import { listReportTimes, listTargetClusters } from '../store/runtimes/applications.ts'
import { findGitopsRuntime, listGitopsRuntimes, updateGitopsRuntime } from '../store/runtimes/gitops.ts'
import type { GitopsRuntimeRow } from '../store/schema/schema.ts'
import { listShownTunnels, showTunnel } from './registry.ts'
import { lockRuntime, unknownRuntime } from './runtimes.ts'

const RuntimeErrors = z.array(RuntimeError)

/** Lists all runtimes by name. */
export async function listShownRuntimes(app: App): Promise<GitopsRuntime[]> {
  const rows = await listGitopsRuntimes(app.store.query, app.accountId)
  const view = await openView(app, await listShownTunnels(app))
  return rows.map((row) => view(row))
}

/** Returns a runtime. Throws `not-found`. */
export async function showRuntime(app: App, name: string): Promise<GitopsRuntime> {
  const row = (await findGitopsRuntime(app.store.query, app.accountId, name)) ?? unknownRuntime(name)
  const view = await openView(app, [await showTunnel(app, name)], row.id)
  return view(row)
}

/** Replaces the errors of a runtime. Throws `not-found`. */
export async function putRuntimeErrors(
  app: App,
  name: string,
  errors: readonly Pick<RuntimeError, 'level' | 'message'>[],
): Promise<GitopsRuntime> {
  await app.store.write(async (tx) => {
    const { id } = await lockRuntime(app, tx, name)
    const at = app.clock.now()
    await updateGitopsRuntime(tx, id, { errors: JSON.stringify(errors.map((error) => ({ ...error, at }))) })
    noteSubject(`errors of GitOps runtime ${name}`)
  })
  return showRuntime(app, name)
}

/** Reads what runtimes share, or what one needs. Returns what callers see of a row. */
async function openView(
  { store, accountId }: App,
  tunnels: readonly Tunnel[],
  runtimeId?: string,
): Promise<(row: GitopsRuntimeRow) => GitopsRuntime> {
  const reports = await listReportTimes(store.query, accountId)
  const clusters = Map.groupBy(await listTargetClusters(store.query, accountId, runtimeId), (one) => one.runtimeId)
  const tunnelOf = new Map(tunnels.map((tunnel) => [tunnel.id, tunnel]))
  return ({ id, name, installation: text, errors, created_by: createdBy, created_at: createdAt }) => {
    const installation = RuntimeInstallation.parse(JSON.parse(text))
    const tunnel = tunnelOf.get(id)
    return {
      id,
      name,
      installation,
      errors: RuntimeErrors.parse(JSON.parse(errors)),
      clusters: (clusters.get(id) ?? []).map(({ cluster, applications }) => ({ cluster, applications })),
      createdBy,
      createdAt,
      ...defined({
        url: installation.ingressUrl ?? tunnel?.url,
        tunnel: tunnel?.connectedAt === undefined ? undefined : tunnel.status,
        reportedAt: reports.get(id)?.seenAt,
      }),
    }
  }
}
