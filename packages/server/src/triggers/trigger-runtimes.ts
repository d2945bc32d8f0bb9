/** The runtimes that triggers choose instead of that of their pipeline. */
import { GitTrigger } from '@windlass/protocol'
import type { Tx } from '../store/store.ts'
import { listCronTriggersOfPipeline } from '../store/triggers/cron-triggers.ts'
import { listEventTriggersOfPipeline } from '../store/triggers/event-triggers.ts'
import { listTriggersOfPipeline } from '../store/triggers/triggers.ts'

/** All kinds of triggers have the field of Git triggers. */
const Spec = GitTrigger.pick({ runtimeEnvironment: true })

/** Lists the names that the triggers choose that users have added to a pipeline. They stay when its document is replaced. The caller holds the lock of the pipeline. */
export async function listTriggerRuntimes(tx: Tx, pipelineId: string): Promise<string[]> {
  const stored = [
    ...(await listTriggersOfPipeline(tx, pipelineId)),
    ...(await listCronTriggersOfPipeline(tx, pipelineId)),
    ...(await listEventTriggersOfPipeline(tx, pipelineId)),
  ]
  const added = stored.filter(({ origin }) => origin === 'api')
  return added.flatMap(({ spec }) => Spec.parse(JSON.parse(spec)).runtimeEnvironment?.name ?? [])
}
