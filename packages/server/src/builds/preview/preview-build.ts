/** What a build would do and wait for if the caller started it now. Stores nothing. */
import { newId } from '@windlass/kit'
import { Build, BuildInput, type PlanAnswer, type PlanInput } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../../app.ts'
import { nameOf, placesOf, type Actor } from '../../identity/actor.ts'
import { readRuntimeAccess } from '../../runtimes/access.ts'
import { listTurns } from '../../store/builds/queue.ts'
import { authorizeBuild } from '../create/authorize-build.ts'
import { toProblem } from '../create/create.ts'
import { prepareBuild, type Prepared } from '../create/prepare.ts'
import { present } from '../lifecycle/present.ts'
import { nextPlaceMs } from '../list/forecast.ts'
import { readLimitUses } from '../list/limit-use.ts'
import { blockingCause, type LimitedBuild } from '../schedule/capacity.ts'
import { toPreview } from './build-plan.ts'

const Problems = Build.shape.problems.unwrap()

/** Returns the plan, the problems of the document and the forecast of the wait. Throws as `createBuild` and `authorizeBuild` do. */
export async function previewBuild(app: App, actor: Actor, input: z.output<typeof PlanInput>): Promise<PlanAnswer> {
  const request = await authorizeBuild(app, actor, BuildInput.parse(input))
  const id = newId(app.clock.now())
  const prepared = await prepareBuild(app, {
    id,
    request,
    initiator: nameOf(actor),
    trigger: { kind: 'manual', name: request.trigger },
    access: await readRuntimeAccess(app, app.store.query, actor),
  })
  const { plan, problems, runtime, missing } = prepared
  return {
    problems: Problems.parse(problems.map(toProblem)),
    ...present({
      plan: plan && toPreview(plan, { only: request.only, skip: request.skip }),
      runtime,
      missing,
      wait: await forecastWait(app, actor, { prepared, trigger: request.trigger }),
    }),
  }
}

interface Asked {
  readonly prepared: Prepared
  readonly trigger: string | undefined
}

/** Returns why the build would wait now; undefined if it would start. */
async function forecastWait(app: App, actor: Actor, { prepared, trigger }: Asked): Promise<PlanAnswer['wait']> {
  const { pipeline, runtime, branch } = prepared
  const build: LimitedBuild = {
    runtime: runtime ?? null,
    pipeline_id: pipeline?.id ?? null,
    branch: branch ?? null,
    trigger_name: trigger ?? null,
  }
  const uses = await readLimitUses(app, [build], { seen: placesOf(actor, 'see-builds') })
  const cause = blockingCause(uses.capacity, build)
  if (cause?.reason === undefined) return undefined
  const scope = uses.scopeOf(cause.reason, build)
  const priority = pipeline?.priority ?? 0
  const ahead = (await listTurns(app.store.query, app.accountId)).filter(
    (turn) => turn.priority >= priority && turn.reason === cause.reason && uses.scopeOf(turn.reason, turn)?.key === scope?.key,
  )
  return {
    reason: cause.reason,
    place: ahead.length + 1,
    ...uses.useOf(scope),
    ...present({ message: cause.message, nextMs: await nextPlaceMs(app, scope === undefined ? [] : uses.holdersOf(scope)) }),
  }
}
