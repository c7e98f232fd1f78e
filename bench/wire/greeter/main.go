// The greeter of grpc-go's examples: answers SayHello with a greeting. With -descriptor it writes
// the descriptor set of its service to that file and ends. With -count it tells whoever connects
// there how many calls it was asked so far, of the greeter or of the standard health service.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"sync/atomic"

	"google.golang.org/grpc"
	pb "google.golang.org/grpc/examples/helloworld/helloworld"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

type greeter struct {
	pb.UnimplementedGreeterServer
}

func (greeter) SayHello(_ context.Context, in *pb.HelloRequest) (*pb.HelloReply, error) {
	return &pb.HelloReply{Message: "Hello " + in.GetName()}, nil
}

func write(path string) error {
	file := protodesc.ToFileDescriptorProto(pb.File_examples_helloworld_helloworld_helloworld_proto)
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}}
	bytes, err := proto.Marshal(set)
	if err != nil {
		return err
	}
	return os.WriteFile(path, bytes, 0o644)
}

var asked atomic.Int64

func counted(ctx context.Context, in any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	asked.Add(1)
	return handle(ctx, in)
}

func tell(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Fprintln(connection, asked.Load())
		connection.Close()
	}
}

func listen(address string) net.Listener {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

func main() {
	address := flag.String("listen", "127.0.0.1:50051", "host:port")
	count := flag.String("count", "", "host:port that tells the count of calls")
	descriptor := flag.String("descriptor", "", "write the descriptor set here, and end")
	flag.Parse()
	if *descriptor != "" {
		if err := write(*descriptor); err != nil {
			log.Fatal(err)
		}
		return
	}
	if *count != "" {
		go tell(listen(*count))
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(counted))
	pb.RegisterGreeterServer(server, greeter{})
	healthpb.RegisterHealthServer(server, health.NewServer())
	log.Fatal(server.Serve(listen(*address)))
}
