export {
  below,
  clusterPath,
  clustersFolder,
  gitSourcePath,
  IN_CLUSTER,
  KEEP_FILE,
  runtimeFolder,
  SHARED_FOLDERS,
} from './layout.ts'
export {
  clusterFile,
  clusterServerOf,
  editInClusterFile,
  ENTITY_LABEL,
  IN_CLUSTER_SERVER,
  inClusterFile,
  isConfigurationFile,
  namespaceOfFile,
  ownProject,
  runtimeApplication,
  runtimeApplicationName,
  type RuntimePlace,
  type SharedPlace,
} from './runtime-files.ts'
export { ownApplications } from './own-applications.ts'
export { editGitSource, gitSourceFile, isSameGitSource, readGitSource, toGitSource, type NamedInput } from './git-source-files.ts'
export {
  chartApplicationFile,
  chartApplicationPath,
  chartFile,
  chartFolder,
  chartValuesFile,
  editChart,
  readChart,
} from './runtime-chart.ts'
export {
  ARGO_ROLLOUTS,
  argoRolloutsFile,
  argoRolloutsName,
  argoRolloutsPath,
  editArgoRollouts,
  readArgoRollouts,
} from './argo-rollouts.ts'
export { promoteValues, readText, type Promoted, type PromotedFile } from './promoted-values.ts'
export { clusterNameOf } from './cluster-names.ts'
export { readClusterLogin, type ClusterLogin } from './cluster-login.ts'
export { CLUSTER_LABEL, clusterSecret, clusterSecretName, readClusterSecret, SECRET_TYPE_LABEL } from './cluster-secret.ts'
export {
  editToManifest,
  findApplication,
  isSameManifest,
  mergeDocuments,
  replaceDocument,
  type FoundDocument,
} from './application-documents.ts'
export {
  newApplicationText,
  pathInRepository,
  problemOfFile,
  problemsOfApplication,
  withFields,
  type ApplicationText,
} from './application-files.ts'
export { readSealedService, sealedServiceFile, serviceFolder, servicePath, serviceSecretName } from './sealed-secret.ts'
export { homeOf } from './application-limits.ts'
export {
  DELIVERY_FORGES,
  DELIVERY_LABEL,
  deliveryFiles,
  deliveryHookPath,
  HOOK_SECRET_KEY,
  hookSecretName,
  type DeliveryForge,
  type DeliveryPlan,
} from './delivery-files.ts'
export { deliveryObjectsIn, deliveryPipelinesIn } from './delivery-sensors.ts'
export type { ManifestProblem } from './check-application.ts'
