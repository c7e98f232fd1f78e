import os,sys,time
p=sys.argv[1]
tids=os.listdir(f"/proc/{p}/task")
t=tids[0]
for f in ["/proc/stat",f"/proc/{p}/stat",f"/proc/{p}/io",f"/proc/{p}/net/dev",f"/proc/{p}/task/{t}/schedstat",f"/proc/{p}/task/{t}/status",f"/proc/{p}/task/{t}/children",f"/proc/{p}/task/{t}/stat"]:
    def one():
        a=time.thread_time_ns(); fd=os.open(f,os.O_RDONLY); b=time.thread_time_ns(); x=os.read(fd,65536); c=time.thread_time_ns(); os.close(fd); d=time.thread_time_ns(); return b-a,c-b,d-c
    r=[one() for _ in range(200)]
    fd=os.open(f,os.O_RDONLY)
    def pr():
        a=time.thread_time_ns(); os.pread(fd,65536,0); return time.thread_time_ns()-a
    q=sorted(pr() for _ in range(200))[100]
    print(f, [sorted(x[i] for x in r)[100]//100/10 for i in range(3)], "pread", q/1000, "µs")
