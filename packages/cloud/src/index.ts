/** Credentials of three clouds, and calls with retries. Which service is called, and how, is up to the importing package. */
export { assumeRoleWithKeys, type RoleRequest } from './aws/assume-role.ts'
export { assumeRole, awsCredentials, type AwsCredentials, type CredentialOptions, type WebIdentity } from './aws/credentials.ts'
export { presignAws, signAws, type SignedRequest, type SignerOptions } from './aws/sign.ts'
export { elementsOf, itemsOf, readXmlError, textOf } from './aws/xml.ts'
export { azureAccess, type AzureAccess, type AzureAccessOptions } from './azure-access.ts'
export { azureFederatedToken, azureToken, type AzureTokenOptions } from './azure-token.ts'
export {
  callCloud,
  isRefusedWith,
  parseAnswer,
  postForm,
  readJsonError,
  type CloudCall,
  type CloudRequest,
} from './call-cloud.ts'
export { googleAccess, type GoogleAccess, type GoogleAccessOptions } from './google-access.ts'
export { federatedGoogleToken } from './google-federation.ts'
export { googleSigner, keySigner, type GoogleSigner, type GoogleSignerOptions } from './google-signer.ts'
