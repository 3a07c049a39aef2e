{{/* The names and labels of this release's resources. */}}
{{- define "cogitate.name" -}}
{{- if contains "cogitate" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-cogitate" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "cogitate.selector" -}}
app.kubernetes.io/name: cogitate
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "cogitate.labels" -}}
{{ include "cogitate.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* For every pod: no service account, no rights, and no variables for services: a service "flower" would set FLOWER_PORT. */}}
{{- define "cogitate.confined" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .user }}
  runAsGroup: {{ .user }}
  fsGroup: {{ .user }}
  seccompProfile: { type: RuntimeDefault }
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "cogitate.unprivileged" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- define "cogitate.image" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{/* The URLs of the servers for a user of Redis; the container's start script fills in the password. */}}
{{- define "cogitate.servers" -}}
{{- $own := printf "redis://USER:PASSWORD@%s-redis:6379" (include "cogitate.name" .root) }}
{{- if ne (empty .root.Values.redis.state) (empty .root.Values.redis.broker) }}
{{- fail "redis.state and redis.broker: set both, or none to start a Valkey server" }}
{{- end }}
- name: COGITATE_REDIS_URL
  value: {{ .root.Values.redis.state | default (printf "%s/0" $own) | replace "USER" .user | quote }}
- name: COGITATE_BROKER_URL
  value: {{ .root.Values.redis.broker | default (printf "%s/1" $own) | replace "USER" .user | quote }}
- name: REDIS_PASSWORD_FILE
  value: /run/secrets/{{ .user }}_password
{{- end }}

{{/* The other variables of hosts and workers. */}}
{{- define "cogitate.settings" -}}
- name: OPENAI_API_KEY_FILE
  value: /run/secrets/openai_api_key
- name: COGITATE_CONCURRENCY
  value: {{ .Values.workers.concurrency | quote }}
- name: COGITATE_METRICS_PORT
  value: "9464"
- name: COGITATE_METRICS_ADDRESS
  value: 0.0.0.0
{{- range $name, $value := .Values.settings }}
{{- if has $name (list "COGITATE_REDIS_URL" "COGITATE_BROKER_URL" "COGITATE_API_KEY" "COGITATE_CONCURRENCY" "COGITATE_METRICS_PORT" "COGITATE_METRICS_ADDRESS") }}
{{- fail (printf "settings.%s: set redis, secretName or workers.concurrency instead" $name) }}
{{- end }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}

{{/* The files of the secret that a container may read, and the folder that it may write to. */}}
{{- define "cogitate.volumes" -}}
- name: tmp
  emptyDir: { sizeLimit: 256Mi }
- name: secrets
  secret:
    secretName: {{ .root.Values.secretName }}
    defaultMode: 0440
    items:
      {{- range .files }}
      - { key: {{ . }}, path: {{ . }} }
      {{- end }}
{{- end }}

{{- define "cogitate.mounts" -}}
- { name: tmp, mountPath: /tmp }
- { name: secrets, mountPath: /run/secrets, readOnly: true }
{{- end }}

{{/* Restart a process that does not answer, but not one whose Redis is away. */}}
{{- define "cogitate.probes" -}}
startupProbe:
  httpGet: { path: /healthz, port: {{ . }} }
  periodSeconds: 5
  failureThreshold: 24
livenessProbe:
  httpGet: { path: /healthz, port: {{ . }} }
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: { path: /readyz, port: {{ . }} }
  periodSeconds: 10
  timeoutSeconds: 5
{{- end }}

{{/* The pod of a host, for a Job or a StatefulSet. */}}
{{- define "cogitate.host" -}}
metadata:
  labels: {{ include "cogitate.labels" (dict "root" . "component" "host") | nindent 4 }}
spec:
  {{- include "cogitate.confined" (dict "root" . "user" 1000) | nindent 2 }}
  restartPolicy: {{ eq .Values.host.type "Job" | ternary "OnFailure" "Always" }}
  terminationGracePeriodSeconds: {{ .Values.host.stopSeconds }}
  containers:
    - name: host
      {{- include "cogitate.image" . | nindent 6 }}
      args: {{ .Values.host.command | default (list "sh" "/app/ops/container/town.sh" "--town" (toString .Values.host.agents)) | toJson }}
      env:
        {{- include "cogitate.servers" (dict "root" . "user" "host") | nindent 8 }}
        {{- include "cogitate.settings" . | nindent 8 }}
        - name: RUN
          {{- if eq .Values.host.type "Job" }}
          value: {{ .Values.host.run | quote }}
          {{- else }}
          valueFrom: { fieldRef: { fieldPath: metadata.name } }
          {{- end }}
        - name: DAYS
          value: {{ .Values.host.days | quote }}
      ports:
        - { name: metrics, containerPort: 9464 }
      {{- include "cogitate.probes" "metrics" | nindent 6 }}
      resources: {{ toYaml .Values.host.resources | nindent 8 }}
      {{- include "cogitate.unprivileged" . | nindent 6 }}
      volumeMounts:
        {{- include "cogitate.mounts" . | nindent 8 }}
        - { name: data, mountPath: /data }
  volumes:
    {{- include "cogitate.volumes" (dict "root" . "files" (list "host_password" "openai_api_key")) | nindent 4 }}
    {{- if eq .Values.host.type "Job" }}
    - name: data
      emptyDir: { sizeLimit: {{ .Values.host.storage }} }
    {{- end }}
{{- end }}
