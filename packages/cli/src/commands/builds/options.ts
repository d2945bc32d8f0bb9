import { flag, text, texts } from '../../command.ts'

/** Options of `run` for the build, apart from its variables. */
export const buildOptions = {
  yaml: text('-y, --yaml <file>', 'Run the stored pipeline with the steps of this document; - reads standard input'),
  trigger: text('-t, --trigger <name>', 'Run as if started by this trigger of the pipeline'),
  annotation: texts('-a, --annotation <name=value>', 'Annotate the build; repeatable'),
  noCfCache: flag('--no-cf-cache', 'Do not use images of earlier builds as cache'),
  enableNotifications: flag('--enable-notifications', 'Send notifications as for a triggered build'),
  cpu: text('--cpu <quantity>', 'CPU of the Docker daemon that runs the steps, such as 2000m'),
  memory: text('--memory <quantity>', 'Memory of the Docker daemon, such as 4Gi'),
  disk: text('--disk <quantity>', 'Minimum disk size, such as 30Gi'),
}
