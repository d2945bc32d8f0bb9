/** The deployments of an application with their health, which Argo CD forgets: only the last one has a health there. */
import { defined } from '@windlass/kit'
import { ReportedDeployment, type ApplicationHealth } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { findDeployments } from '../../store/runtimes/applications.ts'
import { showApplication } from './show-applications.ts'
import type { ApplicationManifest } from './manifest.ts'

const Deployments = z.array(ReportedDeployment)

/** Returns the deployments of a manifest, newest first. Earlier ones keep the health that they had. */
export function readDeployments(
  { status }: ApplicationManifest,
  before: string | undefined,
  health: ApplicationHealth,
): ReportedDeployment[] {
  const known = Deployments.parse(JSON.parse(before ?? '[]'))
  const phase = status.operationState?.phase
  // A sync that runs or has failed changes the objects of the deployment before it.
  const isSettled = phase === undefined || phase === 'Succeeded'
  return status.history.toReversed().map(({ id, revision, revisions, deployedAt, initiatedBy }, position) => {
    // Another application of the same name begins with the same numbers.
    const seen = known.find((one) => one.id === id && one.at === deployedAt)
    return {
      id,
      revisions: revisions.length > 0 ? [...revisions] : revision === undefined ? [] : [revision],
      health: position === 0 && (isSettled || seen === undefined) ? health : (seen?.health ?? 'unknown'),
      ...defined({ at: deployedAt, by: initiatedBy?.username }),
    }
  })
}

/** Returns the deployments of an application, newest first. Throws `not-found`. */
export async function listDeployments(app: App, name: string): Promise<ReportedDeployment[]> {
  const { id } = await showApplication(app, name)
  return Deployments.parse(JSON.parse((await findDeployments(app.store.query, app.accountId, id)) ?? '[]'))
}
