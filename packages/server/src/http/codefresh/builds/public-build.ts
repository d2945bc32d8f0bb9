/** The shape in which public clients read a build. */
import { TRIGGERS } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import { readRequest } from '../../../builds/create/request.ts'
import { toBuild } from '../../../builds/lifecycle/view.ts'
import { findBuildRequest } from '../../../store/builds/builds.ts'
import type { BuildRow } from '../../../store/schema/schema.ts'
import type { Query } from '../../../store/store.ts'

/** Converts a build. Clients print the fields of the repository also if they are missing, so they are empty then. */
export async function toPublicBuild(query: Query, row: BuildRow): Promise<Record<string, unknown>> {
  const build = toBuild(row)
  const request = await findBuildRequest(query, row.id)
  const { repoOwner = '', repoName = '' } = (request === undefined ? undefined : readRequest(request).git) ?? {}
  const { id, status, pipeline = '', pipelineId = '', branch = '', revision = '', runtime = '', initiator, trigger } = build
  return {
    id,
    _id: id,
    status,
    ...timesOf(build),
    progress: id,
    pipelineName: pipeline,
    serviceId: pipelineId,
    serviceName: pipeline,
    repoOwner,
    repoName,
    branchName: branch,
    revision,
    pipelineTriggerName: trigger.name ?? '',
    pipelineTriggerId: trigger.name ?? '',
    webhookTriggered: isWebhook(trigger),
    trigger: 'build',
    userName: initiator,
    runtimeEnvironmentName: runtime,
    ...(build.message !== undefined && status === 'error' && { error: build.message }),
  }
}

/** True if an event of another system started the build. */
function isWebhook({ kind }: Build['trigger']): boolean {
  const { variable }: { readonly variable: string } = TRIGGERS[kind]
  return variable === 'webhook'
}

function timesOf({ createdAt, startedAt, finishedAt }: Build): Record<string, string> {
  const times = { created: createdAt, started: startedAt, finished: finishedAt }
  return Object.fromEntries(
    Object.entries(times).flatMap(([name, time]) => (time === undefined ? [] : [[name, new Date(time).toISOString()]])),
  )
}
