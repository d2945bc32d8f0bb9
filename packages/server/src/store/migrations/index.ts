import type { Migration } from 'kysely/migration'
import { initial } from './001-initial.ts'
import { language } from './002-language.ts'
import { edge } from './003-edge.ts'
import { runtimes } from './004-runtimes.ts'
import { monitor } from './005-monitor.ts'
import { warm } from './006-warm.ts'
import { reach } from './007-reach.ts'
import { rights } from './008-rights.ts'
import { outage } from './009-outage.ts'
import { compaction } from './010-compaction.ts'
import { keys } from './011-keys.ts'
import { lastReport } from './012-last-report.ts'
import { scale } from './013-scale.ts'
import { cutOff } from './014-cut-off.ts'
import { subjects } from './015-subjects.ts'
import { sessions } from './016-sessions.ts'
import { triggerSecrets } from './017-trigger-secrets.ts'
import { sessionUse } from './018-session-use.ts'
import { escapedSecrets } from './019-escaped-secrets.ts'
import { turns } from './020-turns.ts'
import { triggers } from './021-triggers.ts'
import { cron } from './022-cron.ts'
import { users } from './031-users.ts'
import { deviceCodes } from './032-device-codes.ts'
import { audit } from './033-audit.ts'
import { teams } from './034-teams.ts'
import { markedSecrets } from './041-marked-secrets.ts'
import { messages } from './042-messages.ts'
import { statuses } from './044-statuses.ts'
import { polling } from './045-polling.ts'
import { forkApprovals } from './046-fork-approvals.ts'
import { eventTriggers } from './047-event-triggers.ts'
import { notifications } from './051-notifications.ts'
import { waits } from './053-waits.ts'
import { identities } from './048-identities.ts'
import { signingKeys } from './049-signing-keys.ts'
import { links } from './050-links.ts'
import { lists } from './055-lists.ts'
import { lines } from './054-lines.ts'
import { stepStats } from './063-step-stats.ts'
import { samples } from './064-samples.ts'
import { startDecisions } from './056-start-decisions.ts'
import { reportedEnds } from './059-reported-ends.ts'
import { endedBranches } from './060-ended-branches.ts'
import { pipelineRoles } from './057-pipeline-roles.ts'
import { projectQuotas } from './058-project-quotas.ts'
import { marks } from './061-marks.ts'
import { gitLogins } from './068-git-logins.ts'
import { pipelineVersions } from './069-pipeline-versions.ts'
import { preferences } from './070-preferences.ts'
import { keyAuthor } from './071-key-author.ts'
import { disks } from './072-disks.ts'
import { checks } from './073-checks.ts'
import { contextAuthor } from './074-context-author.ts'
import { buildData } from './076-build-data.ts'
import { terminalOutput } from './077-terminal-output.ts'
import { contextChecks } from './078-context-checks.ts'
import { gitlabJobs } from './079-gitlab-jobs.ts'
import { tunnels } from './080-tunnels.ts'
import { documentFiles } from './081-document-files.ts'
import { applications } from './082-applications.ts'
import { releases } from './083-releases.ts'
import { webhookAppProxy } from './085-webhook-app-proxy.ts'
import { releaseTriggers } from './086-release-triggers.ts'
import { runtimeFacts } from './087-runtime-facts.ts'
import { runtimeStatus } from './088-runtime-status.ts'
import { runtimeCalls } from './089-runtime-calls.ts'
import { imageReports } from './092-image-reports.ts'
import { applicationEntities } from './090-application-entities.ts'
import { runtimeCallIndex } from './091-runtime-call-index.ts'
import { reportedObjects } from './093-reported-objects.ts'
import { imageReportSource } from './094-image-report-source.ts'
import { listedObjects } from './095-listed-objects.ts'

/** Applied once each in the order of their names. Never edit one after a release. */
export const migrations: Record<string, Migration> = {
  '001-initial': initial,
  '002-language': language,
  '004-runtimes': runtimes,
  '003-edge': edge,
  '005-monitor': monitor,
  '006-warm': warm,
  '007-reach': reach,
  '008-rights': rights,
  '009-outage': outage,
  '010-compaction': compaction,
  '011-keys': keys,
  '012-last-report': lastReport,
  '013-scale': scale,
  '014-cut-off': cutOff,
  '015-subjects': subjects,
  '016-sessions': sessions,
  '017-trigger-secrets': triggerSecrets,
  '018-session-use': sessionUse,
  '019-escaped-secrets': escapedSecrets,
  '020-turns': turns,
  '021-triggers': triggers,
  '022-cron': cron,
  '031-users': users,
  '032-device-codes': deviceCodes,
  '033-audit': audit,
  '034-teams': teams,
  '041-marked-secrets': markedSecrets,
  '042-messages': messages,
  '044-statuses': statuses,
  '045-polling': polling,
  '046-fork-approvals': forkApprovals,
  '047-event-triggers': eventTriggers,
  '051-notifications': notifications,
  '053-waits': waits,
  '048-identities': identities,
  '049-signing-keys': signingKeys,
  '050-links': links,
  '055-lists': lists,
  '054-lines': lines,
  '056-start-decisions': startDecisions,
  '059-reported-ends': reportedEnds,
  '060-ended-branches': endedBranches,
  '057-pipeline-roles': pipelineRoles,
  '058-project-quotas': projectQuotas,
  '063-step-stats': stepStats,
  '064-samples': samples,
  '061-marks': marks,
  '068-git-logins': gitLogins,
  '069-pipeline-versions': pipelineVersions,
  '070-preferences': preferences,
  '071-key-author': keyAuthor,
  '072-disks': disks,
  '073-checks': checks,
  '074-context-author': contextAuthor,
  '076-build-data': buildData,
  '077-terminal-output': terminalOutput,
  '078-context-checks': contextChecks,
  '079-gitlab-jobs': gitlabJobs,
  '080-tunnels': tunnels,
  '081-document-files': documentFiles,
  '082-applications': applications,
  '083-releases': releases,
  '085-webhook-app-proxy': webhookAppProxy,
  '086-release-triggers': releaseTriggers,
  '087-runtime-facts': runtimeFacts,
  '088-runtime-status': runtimeStatus,
  '089-runtime-calls': runtimeCalls,
  '092-image-reports': imageReports,
  '090-application-entities': applicationEntities,
  '091-runtime-call-index': runtimeCallIndex,
  '093-reported-objects': reportedObjects,
  '094-image-report-source': imageReportSource,
  '095-listed-objects': listedObjects,
}
