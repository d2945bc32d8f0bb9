/** Ends the script of a job in its pod. The stages that always run still run. */
import { FILES } from '../../helper/shell-loop.ts'
import { EXCHANGE_FOLDER } from '../../pod/containers.ts'
import { runInHelper, type HelperCommand } from './helper-command.ts'

/** Tries until the helper knows of the cancellation, or the job has ended. */
export async function cancelScript(options: Omit<HelperCommand, 'command' | 'what'>): Promise<void> {
  await runInHelper({ ...options, what: 'cancel the job', command: ['touch', `${EXCHANGE_FOLDER}/${FILES.canceled}`] })
}
